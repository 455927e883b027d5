// The BIO through which OpenSSL reads and writes TLS records.

import COpenSSL

/// A BIO type that reads from and writes to the buffers of a `TLSStream`.
///
/// With our own BIO, one system call transfers many records, no write raises SIGPIPE, and the channel below may be
/// another TLS connection.
enum RecordBIO {
    /// Makes a BIO that a stream will own and that does not retain the stream; `nil` if memory has run out.
    static func make(for stream: TLSStream) -> OpaquePointer? {
        guard let method = method.pointer, let bio = BIO_new(method) else { return nil }
        BIO_set_data(bio, Unmanaged.passUnretained(stream).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }

    private struct Method: @unchecked Sendable {
        // SAFETY: filled in when it is created, and only read afterwards.
        let pointer: OpaquePointer?
    }

    private static let method: Method = {
        guard let made = BIO_meth_new(BIO_get_new_index() | Int32(BIO_TYPE_SOURCE_SINK), "fireweed records") else {
            return Method(pointer: nil)
        }
        BIO_meth_set_read(made, readRecords)
        BIO_meth_set_write(made, writeRecords)
        BIO_meth_set_ctrl(made, controlRecords)
        return Method(pointer: made)
    }()

    fileprivate static func stream(of bio: OpaquePointer) -> TLSStream? {
        BIO_get_data(bio).map { Unmanaged<TLSStream>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// The BIO's read callback: passes received bytes of TLS records to OpenSSL.
///
/// Runs inside methods of `TLSStream`, on the loop's thread or on another one (`OffloadedStep`).
private func readRecords(_ bio: OpaquePointer?, _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int32) -> Int32 {
    guard let bio, let bytes, count > 0, let stream = RecordBIO.stream(of: bio) else { return -1 }
    fw_bio_clear_retry(bio)
    let room = UnsafeMutableRawBufferPointer(start: bytes, count: Int(count))
    switch stream.takeRecords(into: room) {
    case .bytes(let count): return Int32(count)
    case .wouldBlock:
        fw_bio_set_retry_read(bio)
        return -1
    case .end: return 0
    case .failed: return -1
    }
}

/// The BIO's write callback: stores TLS records from OpenSSL, to be sent.
///
/// Runs inside methods of `TLSStream`, on the loop's thread or on another one (`OffloadedStep`).
private func writeRecords(_ bio: OpaquePointer?, _ bytes: UnsafePointer<CChar>?, _ count: Int32) -> Int32 {
    guard let bio, let bytes, count > 0, let stream = RecordBIO.stream(of: bio) else { return -1 }
    fw_bio_clear_retry(bio)
    stream.putRecords(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
    return count
}

private func controlRecords(
    _ bio: OpaquePointer?, _ command: Int32, _ number: Int, _ pointer: UnsafeMutableRawPointer?
) -> Int {
    switch command {
    case BIO_CTRL_FLUSH: 1
    case BIO_CTRL_EOF: bio.flatMap { RecordBIO.stream(of: $0) }?.isCut == true ? 1 : 0
    default: 0
    }
}
