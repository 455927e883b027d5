// One exchange with a stub.

import Fireweed
import Foundation
import Synchronization

/// Reads the request's content, asks the stubs, and plays their answer on the transport's queue.
///
/// A plain answer is played in one block on the queue. A command that is called inside a consumer's method runs after
/// that block, so the block stops as soon as a command is queued.
final class StubTransfer: TransferControl, @unchecked Sendable {
    // SAFETY: other threads touch only the four constants, of which two are locked or atomic; the variables are
    // confined to the serial queue of `context`, which runs every command.
    let message: RequestMessage
    let context: StubContext
    /// The number of commands that are queued and have not run.
    private let commandCount = Atomic(0)
    /// The fallback's transfer, when no stub matched: it then receives all commands.
    private let successor = Mutex<(any TransferControl)?>(nil)

    private(set) var consumer: (any TransferConsumer)?
    private var trailers: [Field] = []
    private var steps: ArraySlice<PlayStep> = []
    private var hasStarted = false
    private var hasDeliveredHead = false
    /// Whether the next step waits: for the request's content, for a pause, for a WebSocket, or forever after a stall.
    private var isWaiting = true
    /// Whether content was delivered since the last `transferDidCompleteRead()`.
    private var isInBurst = false
    private var upload: StubUpload?
    private var webSocket: StubWebSocket?
    private var feedEvents: [ResponseFeed.Event] = []
    private var isFeeding = false
    /// The number of the feed's bytes that are left before a fault; `nil` without a fault.
    private var feedLimit: Int?
    /// Whether the answer has stalled, so that the stub sends nothing more.
    private var isStalled = false
    /// The scheduled end of a pause in the answer.
    private var pause: (any ScheduledCall)?
    private var timeout: (any ScheduledCall)?
    private var startNanoseconds: UInt64 = 0
    private var report = TransferReport()
    private(set) var flow = Flow.undecided

    init(message: RequestMessage, consumer: any TransferConsumer, context: StubContext) {
        self.message = message
        self.consumer = consumer
        self.context = context
    }

    // MARK: Commands

    func start(_ flow: Flow) {
        command { transfer in
            guard !transfer.hasStarted else { return }
            transfer.hasStarted = true
            _ = transfer.flow.follow(flow)
            transfer.begin()
        }
    }

    func setFlow(_ flow: Flow) {
        if let successor = successor.withLock(\.self) { return successor.setFlow(flow) }
        command { transfer in
            if let successor = transfer.successor.withLock(\.self) { return successor.setFlow(flow) }
            guard transfer.flow.follow(flow) else { return }
            if flow.level != .suspended { transfer.upload?.resume() }
            if flow.level == .running { transfer.webSocket?.deliver() }
        }
    }

    func discard() {
        if let successor = successor.withLock(\.self) { return successor.discard() }
        command { transfer in
            if let successor = transfer.successor.withLock(\.self) { return successor.discard() }
            transfer.end(transfer.hasDeliveredHead ? nil : .cancelled)
        }
    }

    func cancel() {
        if let successor = successor.withLock(\.self) { return successor.cancel() }
        command { transfer in
            if let successor = transfer.successor.withLock(\.self) { return successor.cancel() }
            transfer.end(.cancelled)
        }
    }

    /// Runs `body` on the queue, after the block that is running there, and then continues to play.
    func command(_ body: @escaping @Sendable (StubTransfer) -> Void) {
        commandCount.add(1, ordering: .relaxed)
        context.queue.async { [self] in
            commandCount.subtract(1, ordering: .relaxed)
            guard consumer != nil || (context.fallback != nil && successor.withLock { $0 != nil }) else { return }
            body(self)
            play()
        }
    }

    // MARK: The request

    private func begin() {
        startNanoseconds = context.clock.monotonicNanoseconds
        report.startNanoseconds = context.wallNanoseconds
        guard context.enter(self) else { return end(.cancelled) }
        switch message.body {
        case .none: respond(to: Data())
        case .data(let data):
            // Sent bytes are not reported here if there is a fallback, whose transfer would report the same bytes
            // again.
            if !data.isEmpty, context.fallback == nil {
                consumer?.transferDidSend(data.count, total: Int64(data.count), expected: Int64(data.count))
            }
            respond(to: data)
        case .reader(let make): read(make)
        }
    }

    private func read(_ make: @escaping @Sendable () throws -> any BodyReader) {
        let upload = StubUpload(make, of: self)
        self.upload = upload
        upload.resume()
    }

    /// The fields that a real transport would send: credentials are added if Basic is their only scheme, since Basic
    /// needs no challenge (RFC 7617).
    private var fields: [Field] {
        let fields = message.fields.fields
        guard let credentials = message.credentials, credentials.schemes == .basic,
            !fields.contains(where: { $0.name.isEqualIgnoringASCIICase("Authorization") })
        else { return fields }
        let header = HTTPHeader.authorization(username: credentials.user, password: credentials.password)
        return fields + [Field(name: header.name, value: header.value)]
    }

    /// Answers the request, whose content is complete.
    func respond(to content: Data) {
        upload = nil
        report.requestBodyByteCount = Int64(content.count)
        let request = RecordedRequest(
            method: message.method, url: message.url, fields: fields, body: content,
            isWebSocket: message.webSocket != nil)
        switch context.answer(request) {
        case .failure(let error):
            if error is UnmatchedRequestError, let fallback = context.fallback {
                return forward(to: fallback, content)
            }
            end(.reported(error))
        case .success(let (response, known)):
            isWaiting = false
            if let offer = message.webSocket {
                open(offer, response, known)
            } else {
                steps = PlayStep.steps(of: response, to: request.method)[...]
                trailers = response.hasContent(for: request.method) ? response.trailers : []
            }
        }
    }

    /// Lets another transport perform the exchange; from now on that transport calls the consumer.
    private func forward(to transport: any Transport, _ content: Data) {
        guard let consumer else { return }
        var message = message
        // The message gets the content that was read, since a second reader may not be able to read it again.
        if message.content.isRead { message.body = .data(content) }
        self.consumer = nil
        timeout?.cancel()
        context.leave(self)
        let control = transport.makeTransfer(of: message, for: consumer)
        successor.withLock { $0 = control }
        control.start(flow)
    }

    private func open(_ offer: WebSocketOffer, _ response: MockResponse, _ request: RecordedRequest) {
        guard let script = response.webSocket else {
            let refusal = TransferFailure.exchange(
                .badServerResponse, detail: "the stub answered with status \(response.status)",
                engineCode: 0)
            let steps = PlayStep.steps(of: response, to: request.method).filter { step in
                if case .content = step { false } else { true }
            }
            self.steps = (response.hasHead ? steps + [.failure(refusal)] : steps)[...]
            return
        }
        webSocket = StubWebSocket(script, offer: offer, request: request, of: self)
        steps =
            PlayStep.steps(of: response, to: request.method).filter { step in
                if case .content = step { false } else { true }
            }[...]
    }

    // MARK: The answer

    /// Plays steps until the end, a wait, a flow that lets nothing through, or a queued command.
    func play() {
        while consumer != nil, hasStarted, commandCount.load(ordering: .relaxed) == 0 {
            guard !isWaiting, mayPlay else { return restartTimeout() }
            if !isFeeding, case .wait(let duration)? = steps.first {
                steps.removeFirst()
                return wait(duration)
            }
            playStep()
        }
    }

    /// Whether the next step may be played: while receiving is paused, only heads may.
    private var mayPlay: Bool {
        switch (flow.level, steps.first) {
        case (.running, _), (.receivingPaused, .interim), (.receivingPaused, .head):
            !isFeeding || !feedEvents.isEmpty
        case (.receivingPaused, _), (.suspended, _): false
        }
    }

    private func playStep() {
        guard let consumer else { return }
        if isFeeding { return playFeed() }
        switch steps.popFirst() {
        case nil: finish()
        case .interim(let head): consumer.transferDidReceiveInterim(head)
        case .head(let head):
            report.responseStart = elapsedMicroseconds
            hasDeliveredHead = true
            _ = flow.follow(consumer.transferDidReceive(head))
        case .content(let data): deliver(data)
        case .failure(let error): end(.reported(error))
        case .stall:
            isWaiting = true
            isStalled = true
        case .wait(let duration): wait(duration)
        case .feed(let feed, let byteLimit):
            (isFeeding, feedLimit) = (true, byteLimit)
            let isOurs = feed.listen { [weak self] event in self?.command { $0.feedEvents.append(event) }
            }
            if !isOurs { end(.reported(URLError(.resourceUnavailable))) }
        case .source(let source, let number, let byteLimit): play(source, number, byteLimit)
        }
    }

    /// Puts the piece with this number before the other steps, and the rest of the source behind the piece.
    private func play(_ source: ContentSource, _ number: Int, _ byteLimit: Int?) {
        guard byteLimit != 0, let piece = source.piece(number) else { return }
        guard case .data(let data) = piece else {
            steps = [piece.step, .source(source, next: number + 1, byteLimit: byteLimit)] + steps
            return
        }
        let part = data.prefix(byteLimit ?? .max)
        steps =
            [.content(part), .source(source, next: number + 1, byteLimit: byteLimit.map { $0 - part.count })] + steps
    }

    /// Waits before the next step.
    ///
    /// The time-outs are scheduled first, since an automatic clock advances when the delay is scheduled.
    private func wait(_ duration: Duration) {
        isWaiting = true
        restartTimeout()
        pause = context.clock.schedule(.delay, after: duration, on: context.queue) { [weak self] in
            self?.isWaiting = false
            self?.play()
        }
    }

    private func playFeed() {
        switch feedEvents.removeFirst() {
        case .data(let data):
            guard let limit = feedLimit else { return deliver(data) }
            deliver(data.prefix(limit))
            feedLimit = limit - min(limit, data.count)
            if feedLimit == 0 { isFeeding = false }
        case .finish: isFeeding = false
        case .failure(let error): end(.reported(error))
        }
    }

    private func deliver(_ data: Data) {
        guard let consumer, !data.isEmpty else { return }
        isInBurst = true
        report.responseDecodedByteCount += Int64(data.count)
        report.responseBodyByteCount += Int64(data.count)
        let answer = data.withUnsafeBytes { consumer.transferDidReceive(ContentBytes($0)) }
        _ = flow.follow(answer)
    }

    /// Ends the transfer after the last step, or opens the WebSocket.
    private func finish() {
        guard let webSocket, hasDeliveredHead else { return end(nil) }
        isWaiting = true
        webSocket.open()
    }

    /// Passes a message to the WebSocket's listener.
    func receive(_ message: WebSocketMessage, _ listener: any WebSocketListener) {
        _ = flow.follow(listener.webSocketDidReceive(message))
    }

    // MARK: Time

    /// Called when the stub has nothing to play now: restarts the idle time-out, unless paused or on an open WebSocket;
    /// the deadline stays.
    private func restartTimeout() {
        if isInBurst, message.wantsReadComplete { consumer?.transferDidCompleteRead() }
        isInBurst = false
        timeout?.cancel()
        timeout = nil
        let now = context.clock.monotonicNanoseconds
        // The idle time-out is off while the flow lets no content in, and on an open WebSocket.
        let isIdle = flow.level == .running && message.idleTimeout > 0 && !(webSocket?.isOpen ?? false)
        let idle = isIdle ? min(message.idleTimeout, 1e9) * 1e9 : .infinity
        let whole = message.deadlineNanoseconds.map { Double($0 > now ? $0 - now : 0) } ?? .infinity
        let nanoseconds = min(idle, whole)
        guard nanoseconds < 1e18 else { return }
        // After a stall, only the time-out can end the transfer. It is a delay, so that an automatic clock advances to
        // it.
        let purpose: SchedulingPurpose = isStalled && flow.level == .running ? .delay : .limit
        timeout = context.clock.schedule(
            purpose, after: .nanoseconds(Int64(nanoseconds)), on: context.queue
        ) {
            [weak self] in
            self?.end(
                .exchange(.timedOut, detail: "the stub did not answer within the time-out", engineCode: 0))
        }
    }

    // MARK: The end

    func end(_ failure: TransferFailure?) {
        guard let consumer else { return }
        self.consumer = nil
        // The pause is cancelled, since an automatic clock would otherwise advance for a request that has ended.
        pause?.cancel()
        timeout?.cancel()
        upload?.stop()
        webSocket?.end(failure)
        context.leave(self)
        if report.startNanoseconds == 0 { report.startNanoseconds = context.wallNanoseconds }
        report.total = elapsedMicroseconds
        let sent: TransferEnd.SentContent = hasStarted ? .whole : .untouched
        let trailers = failure == nil && !trailers.isEmpty ? FieldBlock(trailers) : nil
        consumer.transferDidFinish(TransferEnd(failure, report: report, requestContent: sent, trailers: trailers))
    }

    /// Microseconds since the start; at least 1, since 0 in a report means that something did not happen.
    private var elapsedMicroseconds: Int64 {
        guard startNanoseconds > 0 else { return 1 }
        return max(1, Int64((context.clock.monotonicNanoseconds &- startNanoseconds) / 1000))
    }
}

extension StubContext {
    /// Nanoseconds since 1970, or the nearest number that fits.
    var wallNanoseconds: Int64 { clock.now.nanosecondsSince1970 }
}
