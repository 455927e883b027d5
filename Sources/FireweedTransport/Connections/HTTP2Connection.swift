// A connection that carries many exchanges at a time (RFC 9113).

import Foundation
import Glibc

/// A socket, the session that speaks HTTP/2 on it, and the streams of its exchanges.
///
/// What comes is always read, even while some exchanges take nothing: each stream's window limits what can come for it.
final class HTTP2Connection: Connection {
    let session: HTTP2Session
    private var streams: [Int32: HTTP2Stream] = [:]
    /// The room of the events that are handled.
    private var events: [HTTP2Event] = []
    /// What is to be sent, as far as it has not left.
    private var pending: [UInt8] = []
    private var pendingOffset = 0
    /// True inside of `flush()` and while events are handled: whatever is to be sent leaves after that.
    private var isBusy = false
    private(set) var needsFlush = false
    /// No further exchange begins here; the connection closes when the last one has ended.
    private(set) var isRetired = false
    /// When bytes came last.
    private(set) var lastReceived: LoopInstant = 0
    /// A PING was sent since then.
    private var hasPinged = false
    private var resets = ResetRate()
    /// How many events of the last read were told.
    private var eventCount = 0
    /// Streams that hold what the turn had no time for, or content that was joined.
    private var owed = ElementQueue<HTTP2Stream>()
    /// How many exchanges the connection gets until it has shown that it takes more; `nil` for any number.
    private var trialStreamCount: Int?
    /// The last stream of these.
    private var lastTrialStream: Int32?
    /// How many streams the peer takes at present, as its refusals show; `nil` where it refuses none.
    private var takenStreamCount: Int?

    /// So much is moved in one turn of the loop, each way; other connections are looked at before more is.
    private static let turnByteCount = 256 * 1024
    /// So much is read and written at once, unless the options say otherwise.
    private static let pieceByteCount = 64 * 1024

    init(_ socket: ConnectedSocket, session: HTTP2Session, origin: OriginPool) {
        self.session = session
        super.init(socket, origin: origin)
        lastReceived = context.now
        trialStreamCount = origin.knownStreamLimit
        session.source = self
        // The preface and the settings leave though no exchange begins.
        setNeedsFlush()
        // No event will tell of what came before the connection had its socket.
        if isReadable { context.continueAfterSockets(self) }
    }

    // MARK: Exchanges

    /// Whether another exchange can begin: the peer's limit is kept in the origin's line.
    var hasRoom: Bool {
        !isClosed && !isRetired && !session.isGoingAway && streams.count < session.streamLimit
            && exchangeCount < trialStreamCount ?? .max && streams.count < takenStreamCount ?? .max
    }

    /// Whether the peer takes fewer streams than it has announced: exchanges wait for one of them to end.
    var isThrottled: Bool { takenStreamCount != nil && !isRetired }

    override var isIdle: Bool { streams.isEmpty }

    /// Frames may have come that are not read yet: a peer that goes away says which messages it did not process.
    override var isUsable: Bool { !isClosed && (exchangeCount == 0 || !hasPeerClosed && isWithinIdleTime) }

    override func attach(_ exchange: Exchange) {
        let stream = HTTP2Stream(exchange, on: self, isReused: exchangeCount > 0)
        guard exchange.attach(to: stream) else {
            if isIdle { origin.connectionIsFree(self) }
            return
        }
        exchangeCount += 1
        noteConnecting(of: exchange, isReused: stream.isReused)
        do {
            try begin(exchange, on: stream)
        } catch {
            exchange.end(error as? TransferFailure ?? .unreadableBody(error))
        }
    }

    private func begin(_ exchange: Exchange, on stream: HTTP2Stream) throws {
        guard let target = exchange.target else { preconditionFailure("an exchange in line has a target") }
        if exchange.authentication == nil, exchange.message.credentials != nil {
            exchange.authentication = ExchangeAuthentication(
                exchange.message, proxy: nil, token: exchange.takeNegotiateToken())
        }
        let message = exchange.authentication?.authorizing(exchange.message) ?? exchange.message
        let content = try exchange.makeContent(of: message)
        let (fields, written) = try origin.pool.http2Writer.write(
            message, to: target, contentLength: content.byteCount)
        let id = try session.submit(fields, hasContent: written.framing != .none && written.framing != .length(0))
        streams[id] = stream
        stream.begin(id, content, written)
        exchange.report.requestStart = exchange.moment(context.now)
        if let observer = origin.pool.wireObserver { observer.didSend(head: fields.headText) }
        // A peer that is slow answers at least this. One that has vanished does not, and the exchange's time-out finds
        // the connection silent.
        let isQuiet = context.now - min(lastReceived, context.now) >= origin.pool.parts.quietTime
        if stream.isReused, !hasPinged, isQuiet {
            hasPinged = true
            session.ping()
        }
        if exchangeCount == trialStreamCount { lastTrialStream = id }
        if written.closesConnection || !session.hasStreamsLeft { retire() }
        setNeedsFlush()
    }

    /// Lets a stream go whose exchange has ended.
    func release(_ stream: HTTP2Stream) {
        streams[stream.id] = nil
        guard !isClosed else { return }
        if session.forget(stream.id), resets.note(at: context.now) { retire() }
        setNeedsFlush()
        guard streams.isEmpty else { return origin.connectionHasRoom(self) }
        endTrial()
        // A peer that takes no streams would be waited for in vain.
        if session.streamLimit == 0 { retire() }
        guard !isRetired else { return }
        if pendingOffset == pending.count, pending.capacity > Self.keptRoom { (pending, pendingOffset) = ([], 0) }
        origin.connectionIsFree(self)
    }

    /// Notes that the peer has refused one of the streams, whose exchange it has now refused so many times in a row.
    ///
    /// The peer gets no more streams than it has until one of these ends; where it has no other, after a pause.
    func noteRefusal(count: Int) {
        guard !isClosed, !isRetired, !session.isGoingAway, session.streamLimit > 0 else { return }
        takenStreamCount = streams.count - 1
        if streams.count == 1 { origin.rest(afterRefusals: count) }
    }

    /// Lets the peer get as many streams as it has announced.
    func endRest() {
        takenStreamCount = nil
    }

    /// Lets no further exchange begin.
    func retire() {
        guard !isRetired, !isClosed else { return }
        isRetired = true
        origin.connectionRetired(self)
        setNeedsFlush()
    }

    /// Shows a head in the form of HTTP/1.1.
    func show(_ head: ResponseHead) {
        guard let observer = origin.pool.wireObserver else { return }
        observer.didReceive(headLines: Array("HTTP/2 \(head.status) \r\n".utf8) + head.section + [0x0D, 0x0A])
    }

    /// Shows trailers in the form of HTTP/1.1.
    func show(trailers: FieldBlock) {
        guard let observer = origin.pool.wireObserver else { return }
        let lines = trailers.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        observer.didReceive(headLines: Array(lines.utf8))
    }

    // MARK: Reading

    override func socketIsReady() {
        if isReadable { receive() }
        flush()
    }

    private var readByteCount: Int { origin.pool.readByteCount ?? Self.pieceByteCount }

    private func receive() {
        var budget = Self.turnByteCount
        while isReadable, !isClosed {
            guard budget > 0, budget == Self.turnByteCount || !context.turn.isOver else {
                return context.continueAfterSockets(self)
            }
            let buffer = UnsafeMutableRawBufferPointer(rebasing: context.readBuffer[..<readByteCount])
            let outcome = channel.receive(into: buffer)
            noteRead(outcome, byteCount: buffer.count)
            switch outcome {
            case .bytes(let count):
                budget -= max(count, 4096)
                context.turn.noteCost(count)
                lastReceived = context.now
                hasPinged = false
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                session.receive(bytes)
                eventCount = 0
                handleEvents(bytes)
                deliverOwed()
                if session.failure != nil { flush() }
            case .wouldBlock: break
            case .end: lost(.cutResponse("before the response was complete"))
            case .failed(let failure): lost(failure)
            }
        }
    }

    private func handleEvents(_ bytes: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)) {
        let wasBusy = isBusy
        isBusy = true
        defer { isBusy = wasBusy }
        var due: [HTTP2Event] = []
        swap(&due, &events)
        session.takeEvents(&due)
        for event in due { handle(event, bytes) }
        due.removeAll(keepingCapacity: true)
        swap(&due, &events)
    }

    /// Whether a stream may tell an event now, or has to keep it and to call `owe(_:)`.
    func maySay(content isContent: Bool) -> Bool {
        eventCount += 1
        context.turn.noteCost(TurnBudget.callCost)
        return eventCount <= TurnBudget.eventCount || !isContent && !context.turn.isOver
    }

    /// Continues with a stream that keeps something when the events of the read are handled, or in a later turn.
    func owe(_ stream: HTTP2Stream) {
        if owed.isEmpty { context.continueAfterSockets(self) }
        owed.append(stream)
    }

    /// Lets streams tell what they keep, some at least and as many as the turn has time for.
    private func deliverOwed() {
        let wasBusy = isBusy
        isBusy = true
        defer { isBusy = wasBusy }
        var rest = TurnBudget.eventCount
        while rest > 0 || !context.turn.isOver, let stream = owed.popFirst() {
            stream.deliverOwed()
            rest -= 1
            context.turn.noteCost(TurnBudget.callCost)
        }
        if !owed.isEmpty { context.continueAfterSockets(self) }
    }

    private func handle(_ event: HTTP2Event, _ bytes: UnsafeRawBufferPointer) {
        switch event {
        case .interim(let id, let head): streams[id]?.receive(.interim(head))
        case .head(let id, let head, let byteCount):
            origin.noteProgress()
            streams[id]?.receive(.head(head, byteCount: byteCount))
        case .content(let id, let range): streams[id]?.receive(content: UnsafeRawBufferPointer(rebasing: bytes[range]))
        case .end(let id, let trailers):
            if let count = takenStreamCount { takenStreamCount = count + 1 }
            streams[id]?.receive(.end(trailers: trailers))
        case .failed(let id, let failure): streams[id]?.receive(.failed(failure))
        case .sentHead(let id, let byteCount):
            streams[id]?.sentHead(byteCount)
            // The answer shows that the peer has read the heads and stays. A PING would overtake heads that wait.
            guard id == lastTrialStream else { return }
            session.ping()
            setNeedsFlush()
        case .sentContent(let id, let byteCount, let isLast): streams[id]?.sentContent(byteCount, isLast: isLast)
        case .settings: settingsChanged()
        case .goAway(let code, let lastStream):
            learn(lastStream: lastStream)
            if code == HTTP2ErrorCode.http1Required { origin.requireHTTP1() }
            retire()
        case .pong:
            endTrial()
            if hasRoom { origin.connectionHasRoom(self) }
        }
    }

    /// Remembers how many streams the peer took before it went away, where it refuses others.
    private func learn(lastStream: Int32) {
        // Our streams have odd numbers; the highest number of all is an early warning (RFC 9113 §6.8).
        let takenCount = (Int(lastStream) + 1) / 2
        guard takenCount > 0, takenCount < exchangeCount else { return }
        origin.knownStreamLimit = takenCount
        origin.noteProgress()
    }

    /// The peer has read or answered what the trial gave it, and has not gone away: it takes more.
    private func endTrial() {
        guard let count = trialStreamCount, exchangeCount >= count, !session.isGoingAway else { return }
        trialStreamCount = nil
        origin.knownStreamLimit = nil
    }

    /// Takes heads back that exceed the limit on streams, which may have changed: nghttp2 would keep them.
    private func settingsChanged() {
        guard !isClosed else { return }
        if session.streamLimit == 0, streams.isEmpty { return retire() }
        if streams.count > session.streamLimit {
            let waiting = streams.values.filter { !session.isHeadSent($0.id) }.sorted { $0.id > $1.id }
            for stream in waiting.prefix(streams.count - session.streamLimit) {
                stream.receive(.failed(HTTP2StreamFailure(failure: .noStreams, isUnprocessed: true)))
            }
        }
        origin.connectionHasRoom(self)
    }

    /// The connection is lost: it closes, and its exchanges are sent again or fail.
    private func lost(_ failure: TransferFailure) {
        guard !isClosed else { return }
        let cause = session.failure ?? session.goAwayFailure ?? failure
        let dying = streams.values.sorted { $0.id < $1.id }.map { ($0, session.isHeadSent($0.id)) }
        close()
        for (stream, isHeadSent) in dying {
            stream.receive(.failed(HTTP2StreamFailure(failure: cause, isUnprocessed: !isHeadSent)))
        }
    }

    override func isLost(by failure: TransferFailure) { lost(failure) }

    override func didClose() {
        pending = []
        pendingOffset = 0
        streams = [:]
    }

    // MARK: Writing

    /// Has `flush()` called soon.
    func setNeedsFlush() {
        guard !needsFlush, !isClosed else { return }
        needsFlush = true
        if !isBusy { context.continueAfterSockets(self) }
    }

    /// Writes as much as the socket takes.
    func flush() {
        guard !isBusy, !isClosed else { return }
        isBusy = true
        writeAll()
        isBusy = false
        guard !isClosed else { return }
        if session.isOver {
            lost(.cutResponse("before the response was complete"))
        } else if isRetired, streams.isEmpty {
            close()
        }
    }

    private func writeAll() {
        var budget = Self.turnByteCount
        while !isClosed {
            if pendingOffset == pending.count {
                pending.removeAll(keepingCapacity: true)
                pendingOffset = 0
                needsFlush = false
                session.send(into: &pending, limit: Self.pieceByteCount)
                handleEvents()
                // What became of our frames may have given others something to send.
                if pending.isEmpty, needsFlush { continue }
            }
            guard pendingOffset < pending.count, isWritable else { return }
            guard budget > 0, budget == Self.turnByteCount || !context.turn.isOver else {
                return context.continueAfterSockets(self)
            }
            let outcome = pending.withUnsafeBytes { bytes in
                channel.send(
                    UnsafeRawBufferPointer(rebasing: bytes[pendingOffset...]),
                    UnsafeRawBufferPointer(start: nil, count: 0))
            }
            switch outcome {
            case .bytes(let count):
                pendingOffset += count
                budget -= count
                context.turn.noteCost(count)
            case .wouldBlock, .end: isWritable = false
            case .failed:
                // What the peer has said before it closed may still be read.
                isWritable = false
                arrivals.handle(.writeFailed)
                return context.continueAfterSockets(self)
            }
        }
    }
}

extension HTTP2Connection: HTTP2ContentSource {
    func content(of stream: Int32, into buffer: UnsafeMutableRawBufferPointer) -> HTTP2ContentSupply {
        streams[stream]?.supply(into: buffer) ?? .wait
    }
}

extension HTTP2Connection: NextIteration {
    func continueWork() {
        deliverOwed()
        guard !isClosed else { return }
        // What is owed comes before what follows on the wire.
        if isReadable, owed.isEmpty { receive() }
        flush()
    }
}

/// How many streams were reset lately: servers close connections on which that happens too often (CVE-2023-44487).
struct ResetRate {
    private var count = 0
    private var start: LoopInstant = 0

    /// So many in a second are too many.
    static let limit = 100

    /// Notes a reset; true when there are too many.
    mutating func note(at now: LoopInstant) -> Bool {
        if now - min(start, now) > 1_000_000_000 { (count, start) = (0, now) }
        count += 1
        return count >= Self.limit
    }
}
