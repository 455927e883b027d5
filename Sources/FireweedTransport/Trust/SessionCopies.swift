// TLS sessions that outlive their connections.

import COpenSSL

/// Gives libcurl copies of TLS sessions to keep.
///
/// OpenSSL never again resumes a session whose connection was freed without a `close_notify` alert (SSL_free(3)), and
/// libcurl 7.88 ends connections of HTTP/2 without one. A copy of the session is not marked. Since TLS 1.1 such an end
/// does not forbid resumption (RFC 5246 §7.2.1). A fatal alert in a handshake that resumes a copy still ends the use of
/// that copy.
enum SessionCopies {
    fileprivate typealias NewSession = @convention(c) (OpaquePointer?, OpaquePointer?) -> Int32

    /// Puts itself before libcurl's callback for new sessions; nothing changes when libcurl keeps none.
    static func install(on context: UnsafeMutableRawPointer) {
        let context = OpaquePointer(context)
        guard let keep = SSL_CTX_sess_get_new_cb(context) else { return }
        SSL_CTX_set_ex_data(context, index, unsafeBitCast(keep, to: UnsafeMutableRawPointer.self))
        SSL_CTX_sess_set_new_cb(context, sessionMade)
    }

    /// Where an `SSL_CTX` keeps libcurl's callback.
    fileprivate static let index = fw_ssl_ctx_index(nil)
}

/// OpenSSL has a session that can be resumed, on the loop's thread; 0 leaves the reference to OpenSSL.
private func sessionMade(_ ssl: OpaquePointer?, _ session: OpaquePointer?) -> Int32 {
    guard let ssl, let session, let keep = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), SessionCopies.index),
        let copy = SSL_SESSION_dup(session)
    else { return 0 }
    if unsafeBitCast(keep, to: SessionCopies.NewSession.self)(ssl, copy) == 0 { SSL_SESSION_free(copy) }
    return 0
}
