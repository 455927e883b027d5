// Reading of the peer's frames.

#if WebSocket
import Foundation

extension WebSocketConnection {
    /// The most bytes to read for one WebSocket before other connections get their turn.
    private static let turnLimit = 1 << 20

    /// Reads the available bytes, and handles them as the state requires.
    func readOn() {
        guard state != .finished else { return }
        if mayReceive, let engine {
            engine.isPaused = false
            do { try engine.resume() } catch { return violated(error) }
            if settlePeerClose() { return }
        }
        guard let connection else { return }
        var byteCount = 0
        while isReading, self.connection === connection {
            switch connection.read(into: pool.buffer) {
            case .wouldBlock: return finishTurn()
            case .end: return peerEnded()
            case .failed(let failure):
                fail(failure)
                return
            case .bytes(let count):
                touch()
                byteCount += count
                pool.context.turn.noteCost(count)
                take(UnsafeRawBufferPointer(rebasing: pool.buffer.prefix(count)))
                if isYielding { return yieldTurn() }
                // A short read has emptied the socket: epoll reports new bytes.
                if count < pool.buffer.count, !connection.mayHoldBytes { return finishTurn() }
                if byteCount >= Self.turnLimit || pool.context.turn.isOver { return yieldTurn() }
            }
        }
        if isYielding { yieldTurn() } else { finishTurn() }
    }

    /// Whether reading is paused only because this loop iteration has used up its budget.
    private var isYielding: Bool {
        mayReceive && engine?.isPaused == true && (state == .open || state == .closing)
    }

    private var isReading: Bool {
        switch state {
        case .shaking, .open, .closing: mayReceive && engine?.isPaused != true
        case .draining: true
        case .waiting, .connecting, .finished: false
        }
    }

    /// Sends the frames that reading has caused: pongs, and the answer to a close frame.
    private func finishTurn() {
        if state != .finished { flush() }
    }

    /// Continues in another loop iteration: no readiness event reports bytes that the connection has buffered.
    private func yieldTurn() {
        finishTurn()
        guard !isReadingLater, isYielding || connection?.mayHoldBytes == true else { return }
        isReadingLater = true
        pool.context.loop.post(LaterReading(self))
    }

    private func peerEnded() {
        let when = state == .shaking ? "during the handshake" : "without a close frame"
        fail(.exchange(.networkConnectionLost, detail: "the peer closed the connection \(when)", engineCode: 0))
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .shaking: takeHandshake(bytes)
        case .open, .closing: takeFrames(bytes)
        case .waiting, .connecting, .draining, .finished: break  // the bytes are no longer wanted
        }
    }

    // MARK: Frames

    private func takeFrames(_ bytes: UnsafeRawBufferPointer) {
        report.responseBodyByteCount += Int64(bytes.count)
        do {
            try engine?.receive(bytes)
        } catch {
            return violated(error)
        }
        _ = settlePeerClose()
    }

    private func settlePeerClose() -> Bool {
        guard peerClose != nil, state == .open || state == .closing else { return false }
        handle(.peerClosed)
        return true
    }

    private func violated(_ violation: FrameEngine.Violation) {
        let code: URLError.Code = violation.closeCode == 1009 ? .dataLengthExceedsMaximum : .cannotParseResponse
        note(.exchange(code, detail: violation.text, engineCode: Int(violation.closeCode)))
        handle(.violated)
    }

    // MARK: The handshake

    private func takeHandshake(_ bytes: UnsafeRawBufferPointer) {
        if report.responseStart == 0 { report.responseStart = microseconds }
        report.responseHeaderByteCount += Int64(bytes.count)
        var bytes = Array(bytes)
        if shake.refusal != nil { return skipRefusal(bytes) }
        while true {
            switch shake.reader.append(bytes) {
            case .none: return
            case .tooLong:
                let detail = "the header section is longer than the limit allows"
                return fail(.exchange(.dataLengthExceedsMaximum, detail: detail, engineCode: 0))
            case .malformed(let text): return fail(.exchange(.badServerResponse, detail: text, engineCode: 0))
            case .interim(let head, let rest):
                consumer?.transferDidReceiveInterim(head)
                bytes = rest
            case .head(let head, let rest): return answered(head, rest)
            }
        }
    }

    /// Skips a refusal's content, and then repeats the handshake.
    private func skipRefusal(_ bytes: [UInt8]) {
        switch shake.refusal?.skip(bytes) {
        case .end(restCount: 0): handle(.challengedHere)
        case .more, nil: break
        case .end, .useless:
            let detail = "the content of the server's refusal is not framed as it should be, or too long"
            fail(.exchange(.badServerResponse, detail: detail, engineCode: 401))
        }
    }

    private func deliver(_ head: ResponseHead) {
        if let flow = consumer?.transferDidReceive(head) { _ = follow(flow) }
    }

    private func refused(_ head: ResponseHead, complaint: String?) {
        deliver(head)
        let detail = "the server answered the handshake with status \(head.status)"
        fail(
            .exchange(
                .badServerResponse, detail: complaint.map { "\(detail): \($0)" } ?? detail, engineCode: head.status))
    }

    private func answered(_ head: ResponseHead, _ rest: [UInt8]) {
        report.responseHeaderByteCount -= Int64(rest.count)
        report.connection = connection?.details
        switch shake.answerChallenge(of: head) {
        case .none: break
        case .again:
            consumer?.transferDidAnswerChallenge(head)
            return handle(.challenged)
        case .againHere:
            consumer?.transferDidAnswerChallenge(head)
            return skipRefusal(rest)
        case .unkept: return refused(head, complaint: "NTLM needs the connection, which it does not keep")
        }
        guard head.status == 101 else {
            return refused(head, complaint: head.status == 401 ? shake.authentication.complaint(about: head) : nil)
        }
        do {
            try shake.finish(head)
        } catch {
            deliver(head)
            return fail(.exchange(.badServerResponse, detail: error.text, engineCode: 0))
        }
        deliver(head)
        handle(.switched)
        if !rest.isEmpty { rest.withUnsafeBytes(takeFrames) }
    }
}

extension WebSocketConnection: FrameReceiver {
    func frames(didReceive message: WebSocketMessage) -> Bool {
        report.responseDecodedByteCount += Int64(message.byteCount)
        _ = follow(offer.listener.webSocketDidReceive(message))
        pool.context.turn.noteCost(TurnBudget.callCost + message.byteCount)
        return mayReceive && !pool.context.turn.isOver
    }

    func frames(didReceivePong payload: [UInt8]) {
        pings.answer(payload)
    }

    func frames(didReceiveClose code: UInt16, reason: Data) {
        peerClose = (code, reason)
    }
}

/// Continues reading in the next loop iteration.
private final class LaterReading: LoopAction, @unchecked Sendable {
    // SAFETY: created and used on the loop's thread only.
    private let connection: WebSocketConnection

    init(_ connection: WebSocketConnection) {
        self.connection = connection
    }

    func perform(in context: LoopContext) {
        connection.isReadingLater = false
        if connection.state != .finished { connection.readOn() }
    }
}
#endif
