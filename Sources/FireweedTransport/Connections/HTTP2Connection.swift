// A connection that carries many exchanges at the same time (RFC 9113).

import Foundation
import Glibc

/// An HTTP/2 connection: a socket, the session of nghttp2, and the streams of the exchanges.
///
/// Frames are read even while some exchanges accept no content; each stream's flow-control window limits its bytes.
final class HTTP2Connection: Connection {
    let session: HTTP2Session
    private var streams: [Int32: HTTP2Stream] = [:]
    /// An empty buffer for events, kept to use its memory again.
    private var events: [HTTP2Event] = []
    /// Bytes that the socket has not taken yet.
    private var pending: [UInt8] = []
    private var pendingOffset = 0
    /// Whether `flush()` runs or events are handled: new bytes are sent afterwards.
    private var isBusy = false
    private(set) var needsFlush = false
    /// Whether no further exchange may begin; the connection closes when its last exchange has ended.
    private(set) var isRetired = false
    /// The moment of the last received bytes.
    private(set) var lastReceived: LoopInstant = 0
    /// Whether a PING was sent after the last received bytes.
    private var hasPinged = false
    private var resets = ResetRate()
    /// The number of events since the last read, for `maySay(content:)`.
    private var eventCount = 0
    /// Streams that have held events to deliver, after the present read or in a later turn.
    private var owed = ElementQueue<HTTP2Stream>()
    /// The most exchanges on this connection until the peer has shown that it accepts more; `nil` for any number.
    private var trialStreamCount: Int?
    /// The last stream within `trialStreamCount`.
    private var lastTrialStream: Int32?
    /// The number of simultaneous streams that the peer accepts, estimated from refusals; `nil` while it refuses none.
    private var takenStreamCount: Int?

    /// Maximum bytes moved in each direction per turn of the loop, so that one connection cannot starve the others.
    private static let turnByteCount = 256 * 1024
    /// Bytes of one read or write, unless the options have another number.
    private static let pieceByteCount = 64 * 1024

    init(_ socket: ConnectedSocket, session: HTTP2Session, origin: OriginPool) {
        self.session = session
        super.init(socket, origin: origin)
        lastReceived = context.now
        trialStreamCount = origin.knownStreamLimit
        session.source = self
        // The preface and the settings are sent even if no exchange begins.
        setNeedsFlush()
        // The socket is registered edge-triggered, so bytes that arrived before raise no event: read once now.
        if isReadable { context.continueAfterSockets(self) }
    }

    // MARK: Exchanges

    /// Whether another exchange can begin; exchanges beyond the peer's limit wait in the origin's queue.
    var hasRoom: Bool {
        !isClosed && !isRetired && !session.isGoingAway && streams.count < session.streamLimit
            && exchangeCount < trialStreamCount ?? .max && streams.count < takenStreamCount ?? .max
    }

    /// Whether the peer accepts fewer streams than it has announced; exchanges then wait until a stream ends.
    var isThrottled: Bool { takenStreamCount != nil && !isRetired }

    override var isIdle: Bool { streams.isEmpty }

    /// Whether the connection can carry an exchange; unread frames do not matter, since a GOAWAY among them says which
    /// messages the peer did not process.
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
        exchange.reports.current.requestStart = exchange.reports.moment(context.now)
        if let observer = origin.pool.wireObserver { observer.didSend(head: fields.headText) }
        // A PING tells a slow peer, which answers, from a dead peer. If the exchange times out and nothing has been
        // received, the connection is retired.
        let isQuiet = context.now - min(lastReceived, context.now) >= origin.pool.parts.quietTime
        if stream.isReused, !hasPinged, isQuiet {
            hasPinged = true
            session.ping()
        }
        if exchangeCount == trialStreamCount { lastTrialStream = id }
        if written.closesConnection || !session.hasStreamsLeft { retire() }
        setNeedsFlush()
    }

    /// Removes a stream whose exchange has ended.
    func release(_ stream: HTTP2Stream) {
        streams[stream.id] = nil
        guard !isClosed else { return }
        if session.forget(stream.id), resets.note(at: context.now) { retire() }
        setNeedsFlush()
        guard streams.isEmpty else { return origin.connectionHasRoom(self) }
        endTrial()
        // A peer that allows no streams would never serve an exchange.
        if session.streamLimit == 0 { retire() }
        guard !isRetired else { return }
        if pendingOffset == pending.count, pending.capacity > Self.keptRoom { (pending, pendingOffset) = ([], 0) }
        origin.connectionIsFree(self)
    }

    /// Notes a refused stream; `count` is the number of consecutive refusals of its exchange.
    ///
    /// No further stream begins until another stream has ended. If there is no other stream, the origin pauses.
    func noteRefusal(count: Int) {
        guard !isClosed, !isRetired, !session.isGoingAway, session.streamLimit > 0 else { return }
        takenStreamCount = streams.count - 1
        if streams.count == 1 { origin.rest(afterRefusals: count) }
    }

    /// Returns to the limit that the peer has announced.
    func endRest() {
        takenStreamCount = nil
    }

    /// Allows no further exchange on this connection.
    func retire() {
        guard !isRetired, !isClosed else { return }
        isRetired = true
        origin.connectionRetired(self)
        setNeedsFlush()
    }

    /// Passes a head to the wire observer, in the form of HTTP/1.1.
    func show(_ head: ResponseHead) {
        guard let observer = origin.pool.wireObserver else { return }
        observer.didReceive(headLines: Array("HTTP/2 \(head.status) \r\n".utf8) + head.section + [0x0D, 0x0A])
    }

    /// Passes trailers to the wire observer, in the form of HTTP/1.1.
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

    /// Whether a stream may deliver an event now; otherwise the stream keeps the event and calls `owe(_:)`.
    func maySay(content isContent: Bool) -> Bool {
        eventCount += 1
        context.turn.noteCost(TurnBudget.callCost)
        return eventCount <= TurnBudget.eventCount || !isContent && !context.turn.isOver
    }

    /// Schedules a stream to deliver its held events, after the events of the present read or in a later turn.
    func owe(_ stream: HTTP2Stream) {
        if owed.isEmpty { context.continueAfterSockets(self) }
        owed.append(stream)
    }

    /// Delivers held events: of up to `TurnBudget.eventCount` streams in any case, and of more while the turn has time.
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
            // The answer to a PING shows that the peer has read the heads of all trial streams and has not gone away.
            // The PING is sent only now, after the last of these heads, since nghttp2 sends a PING before heads that
            // wait.
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

    /// Remembers from a GOAWAY how many streams the peer has processed, if the peer has refused others.
    private func learn(lastStream: Int32) {
        // A client's streams have odd numbers. A GOAWAY with the highest possible number is only an early warning (RFC
        // 9113 §6.8).
        let takenCount = (Int(lastStream) + 1) / 2
        guard takenCount > 0, takenCount < exchangeCount else { return }
        origin.knownStreamLimit = takenCount
        origin.noteProgress()
    }

    /// Removes the trial limit: the peer has answered its streams, or the PING after them, and has not gone away.
    private func endTrial() {
        guard let count = trialStreamCount, exchangeCount >= count, !session.isGoingAway else { return }
        trialStreamCount = nil
        origin.knownStreamLimit = nil
    }

    /// Fails streams beyond a lowered stream limit whose heads are not sent yet, since nghttp2 would hold the heads.
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

    /// Closes the connection after its loss; its exchanges are sent again or fail.
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

    /// Schedules a call of `flush()`.
    func setNeedsFlush() {
        guard !needsFlush, !isClosed else { return }
        needsFlush = true
        if !isBusy { context.continueAfterSockets(self) }
    }

    /// Writes until the socket accepts no more or the turn has no more time; closes the connection if nothing is left
    /// to do.
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
                // The handled events may have produced further frames.
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
                // The peer may have sent frames before it closed: the bytes that have arrived are still read.
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
        // Events that wait in `owed` are delivered before further bytes are read.
        if isReadable, owed.isEmpty { receive() }
        flush()
    }
}

/// Counts resets: servers close connections on which streams are reset too often (CVE-2023-44487).
struct ResetRate {
    private var count = 0
    private var start: LoopInstant = 0

    /// The number of resets within a second at which the connection is retired.
    static let limit = 100

    /// Counts a reset; true if there were too many.
    mutating func note(at now: LoopInstant) -> Bool {
        if now - min(start, now) > 1_000_000_000 { (count, start) = (0, now) }
        count += 1
        return count >= Self.limit
    }
}
