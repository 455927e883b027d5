// The secrets of TLS connections, for tools that decrypt captured traffic.

import COpenSSL
import Foundation
import Glibc

/// A file that receives TLS secrets, in the format that Wireshark reads.
///
/// Only code enables it (`TransportOptions.keyLogFile`). The environment variable `SSLKEYLOGFILE` is ignored, because
/// others may set it and so expose a program's connections.
final class KeyLog {
    private let descriptor: Int32

    /// Opens or creates the file; a new file is readable only by this user; `nil` if that fails.
    init?(_ url: URL) {
        descriptor = open(url.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// Logs the secrets of all connections of an `SSL_CTX` to this file; this object must outlive the connections.
    func install(on context: OpaquePointer) {
        SSL_CTX_set_keylog_callback(context, writeKeyLog)
        SSL_CTX_set_ex_data(context, Self.index, Unmanaged.passUnretained(self).toOpaque())
    }

    /// The index of the `SSL_CTX` slot that holds its `KeyLog`.
    fileprivate static let index = fw_ssl_ctx_index()

    fileprivate func append(_ line: UnsafePointer<CChar>) {
        var bytes = Array(UnsafeBufferPointer(start: line, count: strlen(line)))
        bytes.append(0x0A)
        _ = write(descriptor, bytes, bytes.count)
    }
}

/// OpenSSL's key log callback: writes a line to the file.
///
/// OpenSSL calls it inside methods of `TLSStream`, on the loop's thread or on another one (`OffloadedStep`).
/// `TLSClient` keeps the log alive longer than any connection.
private func writeKeyLog(_ ssl: OpaquePointer?, _ line: UnsafePointer<CChar>?) {
    guard let ssl, let line, let owner = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), KeyLog.index) else { return }
    Unmanaged<KeyLog>.fromOpaque(owner).takeUnretainedValue().append(line)
}
