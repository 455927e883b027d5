// Writing of HTTP/1.1 requests.

import Foundation
import Glibc

extension HTTP1Connection {
    /// Maximum bytes written per turn of the loop, so that one connection cannot starve the others.
    private static let turnByteCount = 256 * 1024
    /// The most bytes of one read from a body reader.
    private static let pieceByteCount = 64 * 1024

    /// Whether a part of the message has not been written yet.
    var isSending: Bool {
        guard !writing.isStopped else { return false }
        if writing.pendingOffset < writing.pending.count { return true }
        switch writing.content {
        case .none: return false
        case .data(let data, let sent): return sent < data.count
        case .pump: return true
        }
    }

    /// Writes until the socket accepts no more, the exchange may not send, or the turn has no more time.
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
                // The peer may have sent a response before it closed: the bytes that have arrived are still read.
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
        guard writing.awaitsContinue else { return }
        writing.awaitsContinue = false
        exchange?.continueDeadline = nil
        send()
    }

    /// Stops sending the message before its end; the connection closes when the exchange ends.
    func stopSending() {
        writing.isStopped = true
        exchange?.continueDeadline = nil
        writing.content = .none
    }

    /// Prepares the next bytes; false when no bytes can be sent at present.
    private func fill(for exchange: Exchange) throws -> Bool {
        guard writing.pendingOffset == writing.pending.count, !writing.awaitsContinue,
            case .pump(let pump) = writing.content
        else {
            return writing.pendingOffset < writing.pending.count || !writing.awaitsContinue
        }
        // The pump is the user's stream or file, and is not read during an access to `writing`.
        var piece: [UInt8] = []
        swap(&piece, &writing.pending)
        piece.removeAll(keepingCapacity: true)
        writing.pendingOffset = 0
        let supply = pump.readPiece(
            into: &piece, limit: min(Self.pieceByteCount, exchange.sendingAllowance),
            isChunked: writing.framing == .chunked)
        swap(&piece, &writing.pending)
        switch supply {
        case .bytes(let count):
            // `noteContent` notifies the consumer, which may end the exchange.
            noteContent(count, from: pump, for: exchange)
            return !exchange.isStopped
        case .end:
            writing.content = .none
            exchange.didSendAll()
            guard writing.framing == .chunked else { return false }
            try ChunkedEncoder.appendEnd(to: &writing.pending)
            return true
        case .starved: return false
        case .failed(let error): throw error
        }
    }

    /// The part of a file that sendfile(2) can send next.
    ///
    /// `nil` with TLS or chunked framing, for content that is not a file, and while earlier bytes must be written
    /// first.
    private func fileSupply(for exchange: Exchange) -> BodyPump.FileSupply? {
        guard writing.pendingOffset == writing.pending.count, !writing.awaitsContinue, writing.framing != .chunked,
            channel.tls == nil,
            case .pump(let pump) = writing.content
        else { return nil }
        return pump.fileSupply(limit: exchange.sendingAllowance)
    }

    /// Sends a part of a file by sendfile(2); `nil` if the file must be read instead.
    private func sendFile(
        _ descriptor: Int32, at offset: Int64, _ byteCount: Int, for exchange: Exchange
    ) -> ByteChannel.TransferResult? {
        let outcome = channel.send(file: descriptor, at: offset, byteCount: byteCount)
        if case .bytes(let count) = outcome, case .pump(let pump) = writing.content {
            pump.skip(count)
            exchange.touch()
            noteContent(count, from: pump, for: exchange)
        }
        return outcome
    }

    /// Hands the unwritten bytes, and content that is in memory, to the channel once.
    private func write(for exchange: Exchange) -> ByteChannel.TransferResult {
        let outcome = writing.pending.withUnsafeBytes { pending in
            let head = UnsafeRawBufferPointer(rebasing: pending[writing.pendingOffset...])
            guard !writing.awaitsContinue, case .data(let data, let sent) = writing.content else {
                return channel.send(head, UnsafeRawBufferPointer(start: nil, count: 0))
            }
            return data.withUnsafeBytes { bytes in
                channel.send(head, UnsafeRawBufferPointer(rebasing: bytes[sent...].prefix(exchange.sendingAllowance)))
            }
        }
        if case .bytes(let count) = outcome { took(count, for: exchange) }
        return outcome
    }

    /// Counts bytes of content that were taken from a reader.
    private func noteContent(_ count: Int, from pump: BodyPump, for exchange: Exchange) {
        exchange.didSend(count, expected: pump.byteCount)
        // Once a known length is reached, the content has ended: the response may come before another read of the pump
        // reports the end.
        guard writing.framing != .chunked, exchange.sending.byteCount == pump.byteCount else { return }
        writing.content = .none
        exchange.didSendAll(of: pump)
    }

    /// Counts bytes that the kernel has accepted.
    private func took(_ count: Int, for exchange: Exchange) {
        exchange.touch()
        writing.hasWritten = true
        let ofHead = min(count, writing.headRest)
        writing.headRest -= ofHead
        exchange.reports.current.requestHeaderByteCount += Int64(ofHead)
        let ofPending = min(count, writing.pending.count - writing.pendingOffset)
        writing.pendingOffset += ofPending
        if writing.pendingOffset == writing.pending.count, writing.awaitsContinue {
            exchange.continueDeadline = context.now + origin.pool.parts.continueTime
            exchange.setTimer()
        }
        guard case .data(let data, let sent) = writing.content, count > ofPending else { return }
        let ofContent = count - ofPending
        writing.content = .data(data, sentByteCount: sent + ofContent)
        exchange.didSend(ofContent, expected: Int64(data.count))
        if sent + ofContent == data.count { exchange.didSendAll() }
    }
}

/// Zeros that extend a buffer: a debug build copies `repeatElement` one element after another, at 2 MB/s.
private let zeros = [UInt8](repeating: 0, count: 64 * 1024)

extension BodyPump {
    /// Appends a piece of content, as a chunk for chunked content.
    fileprivate func readPiece(into bytes: inout [UInt8], limit: Int, isChunked: Bool) -> Supply {
        var supply = Supply.end
        // `prefix` bytes are reserved for the chunk's size, which is written with leading zeros once the content has
        // been read.
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
