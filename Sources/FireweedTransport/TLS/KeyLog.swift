// The secrets of TLS connections, for tools that decrypt captured traffic.

import COpenSSL
import Foundation
import Glibc

/// A file that takes TLS secrets, in the form that Wireshark reads.
///
/// Only code turns it on (`TransportOptions.keyLogFile`): the environment variable `SSLKEYLOGFILE`, which others may
/// set, must not expose a program's connections.
final class KeyLog {
    private let descriptor: Int32

    /// Opens the file, or creates it, readable for this user alone; `nil` when that fails.
    init?(_ url: URL) {
        descriptor = open(url.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// Writes the secrets of the connections of an `SSL_CTX` into this file; the log has to outlive them.
    func install(on context: OpaquePointer) {
        SSL_CTX_set_keylog_callback(context, writeKeyLog)
        SSL_CTX_set_ex_data(context, Self.index, Unmanaged.passUnretained(self).toOpaque())
    }

    /// The index under which an `SSL_CTX` keeps its log.
    fileprivate static let index = fw_ssl_ctx_index()

    fileprivate func append(_ line: UnsafePointer<CChar>) {
        var bytes = Array(UnsafeBufferPointer(start: line, count: strlen(line)))
        bytes.append(0x0A)
        _ = write(descriptor, bytes, bytes.count)
    }
}

/// OpenSSL's key log callback: writes a secret to the file, while a method of `TLSStream` runs on the loop's thread or
/// on the thread that signs (`HandshakeSignature`).
///
/// The TLS client keeps the log alive longer than any connection.
private func writeKeyLog(_ ssl: OpaquePointer?, _ line: UnsafePointer<CChar>?) {
    guard let ssl, let line, let owner = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), KeyLog.index) else { return }
    Unmanaged<KeyLog>.fromOpaque(owner).takeUnretainedValue().append(line)
}
