// What an `SSL_CTX` is told besides who judges the peer.

import COpenSSL
import Foundation
import Glibc

/// Settings of one connection's `SSL_CTX`, before its handshake.
enum TLSContext {
    /// True when the context is a proxy's; the mark that says so is taken away.
    static func takeProxyMark(from context: UnsafeMutableRawPointer) -> Bool {
        let context = OpaquePointer(context)
        guard SSL_CTX_get_options(context) & fw_ssl_proxy_mark != 0 else { return false }
        SSL_CTX_clear_options(context, fw_ssl_proxy_mark)
        return true
    }

    /// Shows an identity to the server if it asks for one; throws `ClientIdentityError`.
    static func install(_ identity: ClientIdentity) -> (UnsafeMutableRawPointer) throws -> Void {
        { context in try LoadedIdentity(identity).install(on: OpaquePointer(context)) }
    }

    /// Writes the connection's secrets to a log, or nowhere, whatever the environment says.
    ///
    /// libcurl obeys `SSLKEYLOGFILE` by itself: a variable that anyone may set must not open a program's connections.
    static func setKeyLog(_ log: KeyLog?, on context: UnsafeMutableRawPointer) {
        let context = OpaquePointer(context)
        SSL_CTX_set_keylog_callback(context, log == nil ? nil : writeKeyLog)
        SSL_CTX_set_ex_data(context, logIndex, log.map { Unmanaged.passUnretained($0).toOpaque() })
    }

    fileprivate static let logIndex = fw_ssl_ctx_index(nil)
}

/// A file that takes TLS secrets, in the form that Wireshark reads.
final class KeyLog {
    private let descriptor: Int32

    /// Opens or makes the file, readable for this user alone; `nil` when that fails.
    init?(_ url: URL) {
        descriptor = open(url.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    fileprivate func append(_ line: UnsafePointer<CChar>) {
        var bytes = Array(UnsafeBufferPointer(start: line, count: strlen(line)))
        bytes.append(0x0A)
        _ = write(descriptor, bytes, bytes.count)
    }
}

/// OpenSSL has a secret, on the loop's thread; the pool keeps the log longer than any connection.
private func writeKeyLog(_ ssl: OpaquePointer?, _ line: UnsafePointer<CChar>?) {
    guard let ssl, let line, let owner = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), TLSContext.logIndex) else { return }
    Unmanaged<KeyLog>.fromOpaque(owner).takeUnretainedValue().append(line)
}
