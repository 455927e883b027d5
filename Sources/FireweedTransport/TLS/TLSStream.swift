// The bytes of a connection over TLS.

import COpenSSL
import Glibc

/// Encrypts what a connection sends, and decrypts what it receives; one `SSL` over the channel below.
///
/// OpenSSL reads from the loop's buffer of records, which one system call fills, and keeps no more than an unfinished
/// record. What it writes is kept until the channel takes it, so that neither reading nor writing waits for the other.
/// There is no renegotiation, no early data and no TLS in the kernel. It lives on its loop's thread.
final class TLSStream {
    /// The result of a step of the handshake.
    enum HandshakeStep {
        case done
        /// The peer's next message is awaited.
        case wantsRecords
        /// A callback holds the handshake.
        case held
        case failed(OpenSSLError)
    }

    /// The result of the step that signs.
    enum Signature {
        case made
        /// The peer's message before ours is awaited.
        case wantsRecords
        case failed(OpenSSLError)
    }

    let ssl: OpaquePointer
    private let lower: ByteChannel
    private let context: LoopContext
    /// How many bytes of records may come one after another without a byte of content.
    private let framingLimit: Int
    /// Decides in the handshake; `nil` when the handshake is over.
    weak var handshake: TLSHandshake?
    /// Stores the sessions that later connections may resume.
    let resumption: TLSResumption
    /// Whether our records are kept back, until the peer is trusted.
    var holdsRecords = false

    /// Whether another thread signs, to which the stream belongs meanwhile.
    private(set) var isSigning = false

    // MARK: Received records

    /// The part of the loop's buffer that OpenSSL has not taken, during a call.
    private var arrived = UnsafeRawBufferPointer(start: nil, count: 0)
    private var room = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    /// The bytes that OpenSSL has not taken, between two calls; mostly empty.
    private var kept: [UInt8] = []
    /// Whether the channel below had no more bytes, in this call.
    private var isDrained = false
    /// Whether `isDrained` is only inferred from a short read, in this call.
    private var isAssumedDrained = false
    /// The end of the channel below.
    private var lowerEnd: ByteChannel.TransferResult?
    private var framingByteCount = 0
    /// The end or the failure of reading, once there is one.
    private var end: ByteChannel.TransferResult?

    // MARK: Records to send

    private var unsent: [UInt8] = []
    private var unsentOffset = 0
    private var sendFailure: TransferFailure?

    /// Takes over a new `SSL`, which it frees; the channel below stays the caller's until the handshake is done.
    init?(
        _ ssl: OpaquePointer, over lower: ByteChannel, resumption: TLSResumption, framingLimit: Int,
        context: LoopContext
    ) {
        self.ssl = ssl
        self.lower = lower
        self.resumption = resumption
        // A record's content is only known when the record is whole, so one record more is allowed.
        self.framingLimit = max(framingLimit, 0) + Self.recordByteCount
        self.context = context
        guard let bio = RecordBIO.make(for: self) else { return nil }
        SSL_set_bio(ssl, bio, bio)
        SSL_set_ex_data(ssl, Self.index, Unmanaged.passUnretained(self).toOpaque())
        SSL_set_connect_state(ssl)
    }

    deinit { SSL_free(ssl) }

    /// The longest record with its header (RFC 8446 §5.2, RFC 5246 §6.2.3), rounded up.
    private static let recordByteCount = 18 * 1024
    /// The most bytes of a handshake, unless `framingLimit` is higher; OpenSSL itself takes chains of certificates up
    /// to 100 KiB.
    private static let handshakeByteCount = 256 * 1024
    /// The most bytes that are encrypted before they are offered to the channel below.
    private static let sendingByteCount = 64 * 1024
    private static let plainRecordByteCount = 16 * 1024

    private static let index = fw_ssl_index()

    /// The stream of an `SSL`.
    static func of(_ ssl: OpaquePointer) -> TLSStream? {
        SSL_get_ex_data(ssl, index).map { Unmanaged<TLSStream>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The socket at the bottom.
    var descriptor: Int32 { lower.descriptor }

    /// Whether the channel below has ended without the end of TLS.
    var isCut: Bool { if case .end = lowerEnd { true } else { false } }

    /// Whether the channel below has ended in either way, or failed.
    var hasLostPeer: Bool { lowerEnd != nil || sendFailure != nil }

    /// Whether reading has ended or failed, which the next read returns.
    var hasEnded: Bool { end != nil }

    /// Whether a record, or a part of one, was received and not read.
    ///
    /// `SSL_has_pending` does not count a header that OpenSSL has taken without the rest of its record.
    var holdsUnreadRecords: Bool {
        !kept.isEmpty || SSL_has_pending(ssl) == 1 || SSL_rstate_string(ssl)[1] == UInt8(ascii: "B")
    }

    /// Whether records are still unsent.
    var hasUnsentRecords: Bool { unsentOffset < unsent.count }

    /// Version and cipher.
    var report: TransferReport.TLS? {
        OpenSSLLibrary.report(of: UnsafeMutableRawPointer(ssl)).map {
            TransferReport.TLS(version: $0.version, cipher: $0.cipher)
        }
    }

    // MARK: The handshake

    /// Continues with the handshake.
    func shakeHands() -> HandshakeStep {
        withRecords(limit: .max) {
            let result = SSL_do_handshake(ssl)
            defer { flush() }
            guard result != 1 else {
                framingByteCount = 0
                return .done
            }
            switch SSL_get_error(ssl, result) {
            case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .wantsRecords
            case SSL_ERROR_WANT_RETRY_VERIFY, SSL_ERROR_WANT_X509_LOOKUP: return .held
            default: return .failed(OpenSSLError.drain())
            }
        }
    }

    /// Reads the bytes of a handshake that have come, for `sign()`; false when none have come and the channel has not
    /// ended.
    ///
    /// No more is kept than `withRecords` has room for.
    func gatherRecords() -> Bool {
        let known = kept.count
        let buffer = context.takeRecordBuffer()
        defer { context.giveBack(recordBuffer: buffer) }
        while lowerEnd == nil {
            guard kept.count < buffer.count, !hasTooMuchFraming else {
                lowerEnd = .failed(framingRefusal)
                break
            }
            let outcome = lower.receive(into: UnsafeMutableRawBufferPointer(rebasing: buffer[kept.count...]))
            switch outcome {
            case .bytes(let count): kept += buffer[kept.count..<(kept.count + count)]
            case .wouldBlock: return kept.count > known
            case .end, .failed: lowerEnd = outcome
            }
        }
        return true
    }

    /// Makes the step in which the client signs, from the kept records.
    ///
    /// Called on another thread than the loop's, while the handshake is held. Makes no signature while messages of the
    /// peer's that come before ours are missing.
    func sign() -> Signature {
        let (records, unsentCount) = (kept, unsent.count)
        (isSigning, isDrained) = (true, true)
        ERR_clear_error()
        let (result, code) = records.withUnsafeBytes { bytes in
            arrived = bytes
            let result = SSL_do_handshake(ssl)
            kept = Array(arrived)
            arrived = UnsafeRawBufferPointer(start: nil, count: 0)
            return (result, SSL_get_error(ssl, result))
        }
        isSigning = false
        switch code {
        case SSL_ERROR_NONE where result == 1, SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE:
            return unsent.count > unsentCount ? .made : .wantsRecords
        default: return .failed(OpenSSLError.drain())
        }
    }

    /// The failure of the channel below, if that is why the handshake failed.
    var lowerFailure: TransferFailure? {
        if case .failed(let failure) = lowerEnd { return failure }
        return sendFailure
    }

    // MARK: Content

    /// Reads content as far as there is room; fewer bytes mean that no more are available now, or that `hasEnded` is
    /// set.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> ByteChannel.TransferResult {
        if let end { return end }
        var count = 0
        withRecords(limit: buffer.count) {
            // After the last whole record, trying to read more costs no system call.
            trustsShortReads = true
            defer { trustsShortReads = false }
            while count < buffer.count, end == nil {
                ERR_clear_error()
                let room = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                let result = SSL_read(ssl, room.baseAddress, Int32(clamping: room.count))
                guard result > 0 else {
                    if count == 0, isAssumedDrained, SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ {
                        // Only records without content came, such as tickets: read again, since the socket does not
                        // report an end after them a second time.
                        (isDrained, isAssumedDrained, trustsShortReads) = (false, false, false)
                        continue
                    }
                    note(result)
                    break
                }
                framingByteCount = 0
                count += Int(result)
            }
            flush()
        }
        return count > 0 ? .bytes(count) : end ?? .wouldBlock
    }

    private var trustsShortReads = false

    /// Whether content, or an end, waits to be read; records without content, such as tickets, are consumed.
    var hasSomethingToRead: Bool {
        guard end == nil else { return true }
        return withRecords(limit: .max) {
            var byte: UInt8 = 0
            let result = SSL_peek(ssl, &byte, 1)
            if result <= 0 { note(result) }
            flush()
            return result > 0 || end != nil
        }
    }

    /// Encrypts as many of the first bytes of `head` followed by `content` as can be accepted now.
    ///
    /// Accepted bytes are sent when the channel below takes them; more are accepted once all of these are sent.
    func send(_ head: UnsafeRawBufferPointer, _ content: UnsafeRawBufferPointer) -> ByteChannel.TransferResult {
        // An alert may have been read before anything is sent.
        if let end, hasFailed { return end }
        guard flush() else { return sendFailure.map { .failed($0) } ?? .wouldBlock }
        let wanted = min(head.count + content.count, Self.sendingByteCount)
        var count = 0
        while count < wanted {
            let written = writeRecord(head, content, from: count)
            guard written > 0 else { break }
            count += written
        }
        let waiting = unsent.count
        flush()
        // If the channel failed before the first byte left, none of the bytes counts as sent.
        if let sendFailure, unsentOffset == 0, waiting > 0 { return .failed(sendFailure) }
        return count > 0 ? .bytes(count) : end ?? .wouldBlock
    }

    /// Writes one record of the bytes from `offset` on; returns the number of bytes in the record, 0 for none.
    private func writeRecord(
        _ head: UnsafeRawBufferPointer, _ content: UnsafeRawBufferPointer, from offset: Int
    ) -> Int {
        guard offset < head.count, !content.isEmpty else {
            let rest = offset < head.count ? head[offset...] : content[(offset - head.count)...]
            return write(UnsafeRawBufferPointer(rebasing: rest.prefix(Self.plainRecordByteCount)))
        }
        let buffer = context.takeRecordBuffer()
        defer { context.giveBack(recordBuffer: buffer) }
        let first = head[offset...].prefix(Self.plainRecordByteCount)
        let second = content.prefix(Self.plainRecordByteCount - first.count)
        buffer.checkedCopy(from: UnsafeRawBufferPointer(rebasing: first))
        UnsafeMutableRawBufferPointer(rebasing: buffer[first.count...]).checkedCopy(from: second)
        return write(UnsafeRawBufferPointer(rebasing: buffer[..<(first.count + second.count)]))
    }

    private func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        ERR_clear_error()
        let result = SSL_write(ssl, bytes.baseAddress, Int32(bytes.count))
        guard result <= 0 else { return Int(result) }
        note(result)
        return 0
    }

    /// Records why a call moved no bytes; the first end is kept.
    private func note(_ result: Int32) {
        guard end == nil else { return }
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: break
        case SSL_ERROR_ZERO_RETURN: end = .end
        default: end = .failed(TLSFailure.ofConnection(OpenSSLError.drain(), isCut: isCut, below: lowerFailure))
        }
    }

    // MARK: The channel below

    /// Sends the unsent records; false when some are left.
    @discardableResult
    func flush() -> Bool {
        guard sendFailure == nil, !holdsRecords else { return false }
        while unsentOffset < unsent.count {
            let outcome = unsent.withUnsafeBytes {
                lower.send(UnsafeRawBufferPointer(rebasing: $0[unsentOffset...]), .init(start: nil, count: 0))
            }
            switch outcome {
            case .bytes(let count): unsentOffset += count
            case .wouldBlock, .end: return false
            case .failed(let failure):
                sendFailure = failure
                return false
            }
        }
        unsentOffset = 0
        if unsent.capacity <= Self.keptRoom { unsent.removeAll(keepingCapacity: true) } else { unsent = [] }
        return lower.flush()
    }

    /// The largest buffer for unsent records that an idle connection keeps.
    private static let keptRoom = 1024

    /// Gives OpenSSL bytes of records.
    func takeRecords(into buffer: UnsafeMutableRawBufferPointer) -> ByteChannel.TransferResult {
        if arrived.isEmpty { refill() }
        guard !arrived.isEmpty else { return lowerEnd ?? .wouldBlock }
        let count = min(buffer.count, arrived.count)
        buffer.checkedCopy(from: UnsafeRawBufferPointer(rebasing: arrived[..<count]))
        arrived = UnsafeRawBufferPointer(rebasing: arrived[count...])
        framingByteCount += count
        return .bytes(count)
    }

    /// Takes bytes of records that were read before the handshake begins.
    func prepend(_ records: [UInt8]) {
        kept = records
    }

    /// Takes records that OpenSSL has made.
    func putRecords(_ bytes: UnsafeRawBufferPointer) {
        unsent.append(contentsOf: bytes)
    }

    private func refill() {
        guard lowerEnd == nil, !isDrained else { return }
        guard !hasTooMuchFraming else {
            lowerEnd = .failed(framingRefusal)
            return
        }
        let outcome = lower.receive(into: room)
        switch outcome {
        case .bytes(let count):
            arrived = UnsafeRawBufferPointer(rebasing: room[..<count])
            isAssumedDrained = trustsShortReads && count < room.count
            isDrained = isAssumedDrained
        case .wouldBlock: isDrained = true
        case .end, .failed: lowerEnd = outcome
        }
    }

    /// Whether more bytes without content have come than may come one after another.
    private var hasTooMuchFraming: Bool {
        framingByteCount > (handshake == nil ? framingLimit : max(framingLimit, Self.handshakeByteCount))
    }

    private var framingRefusal: TransferFailure {
        .refused(.framingBytes(limit: framingLimit - Self.recordByteCount))
    }

    /// Calls `body` with room for records; records that are not read are kept for the next call.
    private func withRecords<Result>(limit: Int, _ body: () -> Result) -> Result {
        let buffer = context.takeRecordBuffer()
        room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, max(limit, Self.recordByteCount))])
        (isDrained, isAssumedDrained) = (false, false)
        if !kept.isEmpty {
            kept.withUnsafeBytes { buffer.checkedCopy(from: $0) }
            arrived = UnsafeRawBufferPointer(rebasing: buffer[..<kept.count])
            kept = []
        }
        ERR_clear_error()
        let result = body()
        if !arrived.isEmpty { kept = Array(arrived) }
        arrived = UnsafeRawBufferPointer(start: nil, count: 0)
        room = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        context.giveBack(recordBuffer: buffer)
        return result
    }

    /// Sends `close_notify` (RFC 8446 §6.1), as far as the channel below takes it; nothing after a failure, or in the
    /// handshake.
    ///
    /// OpenSSL never resumes a session of TLS 1.2 whose connection ends otherwise (SSL_free(3)).
    func close() {
        guard handshake == nil, sendFailure == nil, !hasFailed else { return }
        ERR_clear_error()
        _ = SSL_shutdown(ssl)
        ERR_clear_error()
        flush()
    }

    private var hasFailed: Bool { if case .failed = end { true } else { false } }
}
