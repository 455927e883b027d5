// The TLS layer of a connection.

import COpenSSL
import Glibc

/// Encrypts what a connection sends and decrypts what it receives, with one `SSL` over the channel below.
///
/// One system call fills the loop's record buffer, from which OpenSSL reads; OpenSSL itself buffers at most an
/// unfinished record. Records that OpenSSL writes are kept until the channel accepts them, so that reading and writing
/// do not wait for each other. Renegotiation, early data and kernel TLS are not used. The stream lives on its loop's
/// thread.
final class TLSStream {
    /// The result of one handshake step.
    enum HandshakeStep {
        case done
        /// The peer's next message has not arrived.
        case wantsRecords
        /// A callback holds the handshake.
        case held
        case failed(OpenSSLError)
    }

    /// A question of an OpenSSL callback on another thread.
    ///
    /// Only the loop's thread can answer it.
    enum Question {
        case peer(PeerEvidence)
        case identity
    }

    let ssl: OpaquePointer
    private let lower: ByteChannel
    private let context: LoopContext
    /// The most record bytes in a row that bring no content.
    private let framingLimit: Int
    /// The handshake, which answers OpenSSL's callbacks; `nil` once the handshake is over.
    weak var handshake: TLSHandshake?
    /// Stores the sessions that the server issues for resumption.
    let resumption: TLSResumption
    /// Whether our records are kept back until the peer is trusted.
    var holdsRecords = false

    // MARK: Steps on another thread

    /// Whether another thread makes a step of the handshake; until it has finished, only that thread may use the
    /// stream.
    private(set) var isOffLoop = false
    /// The question with which the last step on another thread was held.
    private var question: Question?
    /// Whether the last step on another thread has made records.
    private(set) var hasMadeRecords = false
    /// The answers for the next step on another thread.
    private var peerAnswer: TLSHandshake.Answer?
    private var identityAnswer: TLSHandshake.Answer?
    /// The sessions that the server issued during steps on another thread.
    private var newSessions: [OwnedSession] = []

    // MARK: Received records

    /// During a call: the part of the loop's buffer that OpenSSL has not read.
    private var arrived = UnsafeRawBufferPointer(start: nil, count: 0)
    private var room = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    /// Between calls: the record bytes that OpenSSL has not read; usually empty.
    private var kept: [UInt8] = []
    /// Whether `refill` does not read from the channel below in this call: the channel has no bytes now, or the call is
    /// on another thread.
    private var isDrained = false
    /// Whether `isDrained` is only inferred from a short read.
    private var isAssumedDrained = false
    /// How the channel below ended, if it did.
    private var lowerEnd: ByteChannel.TransferResult?
    private var framingByteCount = 0
    /// The end or failure of reading, if any.
    private var end: ByteChannel.TransferResult?

    // MARK: Records to send

    private var unsent: [UInt8] = []
    private var unsentOffset = 0
    private var sendFailure: TransferFailure?

    /// Takes ownership of a new `SSL`; the caller owns the channel below until the handshake is done.
    init?(
        _ ssl: OpaquePointer, over lower: ByteChannel, resumption: TLSResumption, framingLimit: Int,
        context: LoopContext
    ) {
        self.ssl = ssl
        self.lower = lower
        self.resumption = resumption
        // The content of a record is known only when the record is complete, so the limit allows one more record.
        self.framingLimit = max(framingLimit, 0) + Self.recordByteCount
        self.context = context
        guard let bio = RecordBIO.make(for: self) else { return nil }
        SSL_set_bio(ssl, bio, bio)
        SSL_set_ex_data(ssl, Self.index, Unmanaged.passUnretained(self).toOpaque())
        SSL_set_connect_state(ssl)
    }

    deinit { SSL_free(ssl) }

    /// The longest record including its header (RFC 8446 §5.2, RFC 5246 §6.2.3), rounded up.
    private static let recordByteCount = 18 * 1024
    /// The most bytes of a handshake, unless `framingLimit` is higher; OpenSSL accepts certificate chains of up to 100
    /// KiB.
    private static let handshakeByteCount = 256 * 1024
    /// The most bytes to encrypt before they are passed to the channel below.
    private static let sendingByteCount = 64 * 1024
    private static let plainRecordByteCount = 16 * 1024

    private static let index = fw_ssl_index()

    /// Returns the stream that owns an `SSL`.
    static func of(_ ssl: OpaquePointer) -> TLSStream? {
        SSL_get_ex_data(ssl, index).map { Unmanaged<TLSStream>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The socket below all channels.
    var descriptor: Int32 { lower.descriptor }

    /// Whether the channel below has ended, but not by a failure.
    var isCut: Bool { if case .end = lowerEnd { true } else { false } }

    /// Whether the channel below has ended or failed.
    var hasLostPeer: Bool { lowerEnd != nil || sendFailure != nil }

    /// Whether reading has ended or failed; the next read returns that.
    var hasEnded: Bool { end != nil }

    /// Whether a record, or a part of a record, was received but not read.
    ///
    /// `SSL_has_pending` misses a record header that OpenSSL has read without the rest of the record.
    var holdsUnreadRecords: Bool {
        !kept.isEmpty || SSL_has_pending(ssl) == 1 || SSL_rstate_string(ssl)[1] == UInt8(ascii: "B")
    }

    /// Whether records are still unsent.
    var hasUnsentRecords: Bool { unsentOffset < unsent.count }

    /// The TLS version and the cipher.
    var report: TransferReport.TLS? {
        OpenSSLLibrary.report(of: UnsafeMutableRawPointer(ssl)).map {
            TransferReport.TLS(version: $0.version, cipher: $0.cipher)
        }
    }

    // MARK: The handshake

    /// Makes the next step of the handshake.
    func shakeHands() -> HandshakeStep {
        withRecords(limit: .max) {
            defer { flush() }
            return handshakeStep(after: SSL_do_handshake(ssl))
        }
    }

    private func handshakeStep(after result: Int32) -> HandshakeStep {
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

    /// Reads the available bytes of the handshake into `kept`, for `shakeHandsOffLoop()`; returns false if there are
    /// none and the channel has not ended.
    ///
    /// Keeps at most as many bytes as the loop's record buffer can hold.
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

    /// Makes the next step of the handshake on another thread than the loop's, from the records in `kept`; the records
    /// that it makes are not sent yet.
    ///
    /// A callback that has no answer from the loop's thread holds the step, and sets `question`.
    func shakeHandsOffLoop() -> HandshakeStep {
        let (records, unsentCount) = (kept, unsent.count)
        (isOffLoop, isDrained) = (true, true)
        ERR_clear_error()
        let step = records.withUnsafeBytes { bytes in
            arrived = bytes
            let step = handshakeStep(after: SSL_do_handshake(ssl))
            kept = Array(arrived)
            arrived = UnsafeRawBufferPointer(start: nil, count: 0)
            return step
        }
        hasMadeRecords = unsent.count > unsentCount
        isOffLoop = false
        return step
    }

    /// Returns the loop's answer about the peer; without one, asks for it.
    func answerAboutPeer(_ evidence: () -> PeerEvidence) -> TLSHandshake.Answer {
        if let answer = peerAnswer.take() { return answer }
        question = .peer(evidence())
        return .hold
    }

    /// Returns the loop's answer about the identity, which holds for all further steps; without one, asks for it.
    func answerAboutIdentity() -> TLSHandshake.Answer {
        if let identityAnswer { return identityAnswer }
        question = .identity
        return .hold
    }

    /// Takes the question of the last step on another thread.
    func takeQuestion() -> Question? { question.take() }

    /// Answers a question, for the next step on another thread.
    func answer(_ question: Question, _ answer: TLSHandshake.Answer) {
        switch question {
        case .peer: peerAnswer = answer
        case .identity: identityAnswer = answer
        }
    }

    /// Stores a session that the server issued; during a step on another thread, keeps it for `storeNewSessions()`.
    func take(_ session: OwnedSession) {
        if isOffLoop { newSessions.append(session) } else { resumption.keep(session) }
    }

    /// Stores the sessions of the steps on another thread.
    func storeNewSessions() {
        for session in newSessions { resumption.keep(session) }
        newSessions = []
    }

    /// The failure of the channel below, which is then the cause of a failed handshake.
    var lowerFailure: TransferFailure? {
        if case .failed(let failure) = lowerEnd { return failure }
        return sendFailure
    }

    // MARK: Content

    /// Reads content into the buffer; fewer bytes than fit mean that no more are available now, or that `hasEnded` is
    /// set.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> ByteChannel.TransferResult {
        if let end { return end }
        var count = 0
        withRecords(limit: buffer.count) {
            // A short read shows that the socket is empty: then looking for another record needs no system call.
            trustsShortReads = true
            defer { trustsShortReads = false }
            while count < buffer.count, end == nil {
                ERR_clear_error()
                let room = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                let result = SSL_read(ssl, room.baseAddress, Int32(clamping: room.count))
                guard result > 0 else {
                    if count == 0, isAssumedDrained, SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ {
                        // Only records without content came, such as tickets. The channel is read again, since epoll
                        // would not report an end that followed them a second time.
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

    /// Whether content or an end can be read now; consumes records without content, such as tickets.
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

    /// Encrypts bytes of `head` and then of `content`, up to a limit; returns the number of bytes accepted.
    ///
    /// Accepted bytes are sent when the channel below accepts them; more bytes are accepted only after all of these are
    /// sent.
    func send(_ head: UnsafeRawBufferPointer, _ content: UnsafeRawBufferPointer) -> ByteChannel.TransferResult {
        // A read may have failed before the first send, for example because of an alert.
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
        // If the channel failed before it accepted a byte, none of these bytes was sent.
        if let sendFailure, unsentOffset == 0, waiting > 0 { return .failed(sendFailure) }
        return count > 0 ? .bytes(count) : end ?? .wouldBlock
    }

    /// Encrypts one record with the bytes from `offset` on; returns the number of bytes in it, 0 for no record.
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

    /// Records why a call transferred no bytes; the first end or failure is kept.
    private func note(_ result: Int32) {
        guard end == nil else { return }
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: break
        case SSL_ERROR_ZERO_RETURN: end = .end
        default: end = .failed(TLSFailure.ofConnection(OpenSSLError.drain(), isCut: isCut, below: lowerFailure))
        }
    }

    // MARK: The channel below

    /// Sends the unsent records; returns false if some are left.
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

    /// The largest buffer for unsent records that an idle connection keeps, in bytes.
    private static let keptRoom = 1024

    /// Copies received bytes of records into OpenSSL's buffer.
    func takeRecords(into buffer: UnsafeMutableRawBufferPointer) -> ByteChannel.TransferResult {
        if arrived.isEmpty { refill() }
        guard !arrived.isEmpty else { return lowerEnd ?? .wouldBlock }
        let count = min(buffer.count, arrived.count)
        buffer.checkedCopy(from: UnsafeRawBufferPointer(rebasing: arrived[..<count]))
        arrived = UnsafeRawBufferPointer(rebasing: arrived[count...])
        framingByteCount += count
        return .bytes(count)
    }

    /// Stores record bytes that were read before the handshake.
    func prepend(_ records: [UInt8]) {
        kept = records
    }

    /// Stores records from OpenSSL, to be sent.
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

    /// Whether the limit on record bytes without content is exceeded.
    private var hasTooMuchFraming: Bool {
        framingByteCount > (handshake == nil ? framingLimit : max(framingLimit, Self.handshakeByteCount))
    }

    private var framingRefusal: TransferFailure {
        .refused(.framingBytes(limit: framingLimit - Self.recordByteCount))
    }

    /// Calls `body` with a buffer for received records; keeps unread records for the next call.
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

    /// Sends `close_notify` (RFC 8446 §6.1) if the channel below accepts it; sends nothing during the handshake or
    /// after a failure.
    ///
    /// OpenSSL never resumes a TLS 1.2 session whose connection ended without `close_notify` (SSL_free(3)).
    func close() {
        guard handshake == nil, sendFailure == nil, !hasFailed else { return }
        ERR_clear_error()
        _ = SSL_shutdown(ssl)
        ERR_clear_error()
        flush()
    }

    private var hasFailed: Bool { if case .failed = end { true } else { false } }
}
