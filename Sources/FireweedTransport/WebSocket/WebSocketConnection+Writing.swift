// Writing of our frames.

#if WebSocket
import Foundation

extension WebSocketConnection {
    func send(_ message: WebSocketMessage, completion: @escaping @Sendable (TransferFailure?) -> Void) {
        guard state == .open, sendQueue.closing == nil else { return completion(failure ?? .closedWebSocket) }
        sendQueue.add(message, completion)
        flush()
    }

    func ping(completion: @escaping @Sendable (TransferFailure?) -> Void) {
        guard state == .open, let engine else { return completion(failure ?? .closedWebSocket) }
        engine.queuePing(pings.add(completion))
        flush()
    }

    func sendHandshake() {
        do throws(TransferFailure) {
            try shake.begin()
        } catch {
            return fail(error)
        }
        report.requestStart = microseconds
        report.requestHeaderByteCount = Int64(shake.unsent.count)
        flush()
    }

    /// Writes as much as the connection accepts.
    func flush() {
        guard let connection, !isWriteBroken else { return }
        while true {
            stage()
            let step: ByteChannel.TransferResult
            if !shake.unsent.isEmpty {
                step = shake.unsent.withUnsafeBytes(connection.write)
            } else if let engine, engine.outputStart < engine.output.count {
                step = engine.output.withUnsafeBytes {
                    connection.write(UnsafeRawBufferPointer(rebasing: $0[engine.outputStart...]))
                }
            } else {
                break
            }
            guard case .bytes(let count) = step else {
                if case .failed(let failure) = step { return writingFailed(failure) }
                break
            }
            wrote(count)
        }
        updateInterest()
    }

    /// Frames the waiting messages and then the close frame, while there is room.
    private func stage() {
        guard let engine, state == .open || state == .closing || state == .draining else { return }
        engine.pump()
        if !engine.hasUnframed { sendQueue.endMessage(at: engine.queuedByteCount) }
        while engine.isReadyForMessage, let next = sendQueue.next() {
            guard engine.queue(next.message) else {
                next.completion(failure ?? .closedWebSocket)
                continue
            }
            report.requestBodyByteCount += Int64(next.message.byteCount)
            sendQueue.begin(next.completion)
            if !engine.hasUnframed { sendQueue.endMessage(at: engine.queuedByteCount) }
        }
        if state == .closing, engine.isReadyForMessage, sendQueue.isEmpty, let closing = sendQueue.takeClosing() {
            engine.queueClose(code: closing.code, reason: closing.reason)
        }
    }

    private func wrote(_ count: Int) {
        touch()
        if !shake.unsent.isEmpty {
            shake.unsent.removeFirst(count)
        } else {
            engine?.didWrite(count)
            sendQueue.wrote(count)
        }
    }

    /// Reads what the peer sent before it closed the connection, since that may explain the failure.
    private func writingFailed(_ failure: TransferFailure) {
        isWriteBroken = true
        readOn()
        if state != .finished { fail(failure) }
    }

    /// Updates the readiness events that the connection waits for.
    func updateInterest() {
        guard let connection, state != .connecting else { return }
        var wanted: SocketReadiness = []
        if mayReceive || state == .draining { wanted.insert(.readable) }
        if !isWriteBroken, !shake.unsent.isEmpty || engine?.hasOutput == true { wanted.insert(.writable) }
        guard wanted != interest else { return }
        interest = wanted
        connection.wait(for: wanted)
    }
}
#endif
