// Writing of HTTP/1.1 requests.

import Foundation
import Glibc

extension HTTP1Connection {
    /// Maximum bytes written per turn of the loop, so that one connection cannot starve the others.
    private static let turnByteCount = 256 * 1024
    /// Bytes of one read from a body reader.
    private static let pieceByteCount = 64 * 1024

    /// Whether a part of the message has not been written yet.
    var isSending: Bool {
        guard !isSendingStopped else { return false }
        if pendingOffset < pending.count { return true }
        switch content {
        case .none: return false
        case .data(let data, let sent): return sent < data.count
        case .pump: return true
        }
    }

    /// Writes as much as the socket takes and the exchange may send.
    func send() {
        var budget = Self.turnByteCount
        while isWritable, isSending, let exchange, exchange.maySend, !exchange.isStopped {
            guard budget > 0, budget == Self.turnByteCount || !context.turn.isOver else {
                return context.continueAfterSockets(self)
            }
            var outcome: ByteChannel.TransferResult?
            switch fileSupply(for: exchange) {
            case .cached(let file, let offset, let count): outcome = sendFile(file, at: offset, count, for: exchange)
            case .starved: return
            case nil: break
            }
            do {
                if outcome == nil {
                    guard try fill(for: exchange) else { return }
                    outcome = write(for: exchange)
                }
            } catch {
                return exchange.end(error as? TransferFailure ?? .unreadableBody(error))
            }
            switch outcome {
            case .bytes(let count):
                budget -= count
                context.turn.noteCost(count)
            case .failed:
                // Bytes that the peer sent before it closed can still be read.
                stopSending()
                arrivals.handle(.writeFailed)
                return context.continueAfterSockets(self)
            case .wouldBlock, .end, nil:
                isWritable = false
                return
            }
        }
    }

    /// Sends content that has waited for a 100 response.
    func continueSending() {
        guard awaitsContinue else { return }
        awaitsContinue = false
        exchange?.continueDeadline = nil
        send()
    }

    /// Leaves out the rest of the message; the connection ends with the exchange.
    func stopSending() {
        isSendingStopped = true
        exchange?.continueDeadline = nil
        content = .none
    }

    /// Prepares the next bytes; false when there are none at present.
    private func fill(for exchange: Exchange) throws -> Bool {
        guard pendingOffset == pending.count, !awaitsContinue, case .pump(let pump) = content else {
            return pendingOffset < pending.count || !awaitsContinue
        }
        pending.removeAll(keepingCapacity: true)
        pendingOffset = 0
        switch pump.readPiece(
            into: &pending, limit: min(Self.pieceByteCount, exchange.sendingAllowance), isChunked: framing == .chunked)
        {
        case .bytes(let count):
            // Notifies the consumer, which may end the exchange.
            noteContent(count, from: pump, for: exchange)
            return !exchange.isStopped
        case .end:
            content = .none
            exchange.didSendAll()
            guard framing == .chunked else { return false }
            try ChunkedEncoder.appendEnd(to: &pending)
            return true
        case .starved: return false
        case .failed(let error): throw error
        }
    }

    /// The part of a file that can be sent without reading it; `nil` if other bytes precede it.
    private func fileSupply(for exchange: Exchange) -> BodyPump.FileSupply? {
        guard pendingOffset == pending.count, !awaitsContinue, framing != .chunked, channel.tls == nil,
            case .pump(let pump) = content
        else { return nil }
        return pump.fileSupply(limit: exchange.sendingAllowance)
    }

    /// Sends a part of a file by sendfile(2); `nil` if it has to be read after all.
    private func sendFile(
        _ descriptor: Int32, at offset: Int64, _ byteCount: Int, for exchange: Exchange
    ) -> ByteChannel.TransferResult? {
        let outcome = channel.send(file: descriptor, at: offset, byteCount: byteCount)
        if case .bytes(let count) = outcome, case .pump(let pump) = content {
            pump.skip(count)
            exchange.touch()
            noteContent(count, from: pump, for: exchange)
        }
        return outcome
    }

    /// Writes the prepared bytes once.
    private func write(for exchange: Exchange) -> ByteChannel.TransferResult {
        let outcome = pending.withUnsafeBytes { pending in
            let head = UnsafeRawBufferPointer(rebasing: pending[pendingOffset...])
            guard !awaitsContinue, case .data(let data, let sent) = content else {
                return channel.send(head, UnsafeRawBufferPointer(start: nil, count: 0))
            }
            return data.withUnsafeBytes { bytes in
                channel.send(head, UnsafeRawBufferPointer(rebasing: bytes[sent...].prefix(exchange.sendingAllowance)))
            }
        }
        if case .bytes(let count) = outcome { took(count, for: exchange) }
        return outcome
    }

    /// Notes that bytes of content were taken from a reader.
    private func noteContent(_ count: Int, from pump: BodyPump, for exchange: Exchange) {
        exchange.didSend(count, expected: pump.byteCount)
        // The length tells which piece is the last: the response may come before another read reports the end.
        guard framing != .chunked, exchange.sentByteCount == pump.byteCount else { return }
        content = .none
        exchange.didSendAll(of: pump)
    }

    /// Notes bytes that the kernel has taken.
    private func took(_ count: Int, for exchange: Exchange) {
        exchange.touch()
        hasWritten = true
        let ofHead = min(count, headRest)
        headRest -= ofHead
        exchange.report.requestHeaderByteCount += Int64(ofHead)
        let ofPending = min(count, pending.count - pendingOffset)
        pendingOffset += ofPending
        if pendingOffset == pending.count, awaitsContinue {
            exchange.continueDeadline = context.now + origin.pool.parts.continueTime
            exchange.setTimer()
        }
        guard case .data(let data, let sent) = content, count > ofPending else { return }
        let ofContent = count - ofPending
        content = .data(data, sentByteCount: sent + ofContent)
        exchange.didSend(ofContent, expected: Int64(data.count))
        if sent + ofContent == data.count { exchange.didSendAll() }
    }
}

/// Bytes that extend a buffer: a debug build copies the elements of `repeatElement` one by one, at 2 MB/s.
private let zeros = [UInt8](repeating: 0, count: 64 * 1024)

extension BodyPump {
    /// Appends a piece of content, as a chunk for chunked content.
    fileprivate func readPiece(into bytes: inout [UInt8], limit: Int, isChunked: Bool) -> Supply {
        var supply = Supply.end
        // A chunk begins with its size in a fixed width, which is written after the content.
        let prefix = isChunked ? 10 : 0
        let start = bytes.count
        var missing = prefix + limit
        while missing > 0 {
            let count = min(missing, zeros.count)
            bytes.append(contentsOf: zeros[..<count])
            missing -= count
        }
        bytes.withUnsafeMutableBytes { room in
            supply = read(into: UnsafeMutableRawBufferPointer(rebasing: room[(start + prefix)...]))
        }
        guard case .bytes(let count) = supply else {
            bytes.removeLast(bytes.count - start)
            return supply
        }
        bytes.removeLast(limit - count)
        guard isChunked else { return supply }
        let digits = Array(String(count, radix: 16).utf8)
        let size = repeatElement(UInt8(ascii: "0"), count: prefix - 2 - digits.count) + digits + ChunkedEncoder.chunkEnd
        bytes.replaceSubrange(start..<(start + prefix), with: size)
        bytes.append(contentsOf: ChunkedEncoder.chunkEnd)
        return supply
    }
}
