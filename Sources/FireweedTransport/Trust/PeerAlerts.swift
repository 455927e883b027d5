// The alert with which a peer ends a TLS connection.

import COpenSSL
import Foundation
import Glibc

/// An alert of TLS (RFC 8446 §6).
struct TLSAlert: Equatable {
    let description: UInt8

    /// OpenSSL's words for it; OpenSSL 3.0 has none for the alert that is new in TLS 1.3.
    var text: String {
        Int32(description) == TLS13_AD_CERTIFICATE_REQUIRED
            ? "certificate required" : String(cString: SSL_alert_desc_string_long(Int32(description)))
    }

    /// The code of an alert by which a server says what it thinks of the client's certificate; `nil` for any other
    /// alert.
    var urlErrorCode: URLError.Code? {
        switch Int32(description) {
        case TLS13_AD_CERTIFICATE_REQUIRED: .clientCertificateRequired
        case SSL3_AD_BAD_CERTIFICATE, SSL3_AD_UNSUPPORTED_CERTIFICATE, SSL3_AD_CERTIFICATE_REVOKED,
            SSL3_AD_CERTIFICATE_EXPIRED, SSL3_AD_CERTIFICATE_UNKNOWN, TLS1_AD_UNKNOWN_CA:
            .clientCertificateRejected
        default: nil
        }
    }
}

/// Knows with which fatal alert the peer of one TLS connection ended it.
///
/// In TLS 1.3 a server judges the client's certificate when the handshake is over for the client. libcurl may then find
/// the connection reset while it sends the request, and fails without reading the alert that came before the reset.
/// Loop-confined.
final class PeerAlerts {
    /// The fatal alert that was read; `nil` when none was.
    private(set) var fatal: TLSAlert?
    /// True when the connection is closed and freed.
    private(set) var isOver = false
    /// `nil` before the handshake, and when the connection is freed.
    private var ssl: OpaquePointer?

    /// Lets OpenSSL report the alerts of an `SSL_CTX`, which keeps this object.
    func install(on context: UnsafeMutableRawPointer) {
        let context = OpaquePointer(context)
        SSL_CTX_set_ex_data(context, Self.index, Unmanaged.passRetained(self).toOpaque())
        SSL_CTX_set_info_callback(context, alertPassed)
    }

    fileprivate static let index = fw_ssl_ctx_index(connectionFreed)

    /// Reads what has come on a connection that the peer has ended, as far as an alert or content.
    ///
    /// Bytes that are read here stay in OpenSSL's buffer. On a connection that lives, other streams would wait for
    /// them.
    ///
    /// Never from inside libcurl. libcurl's own BIO works only inside of libcurl: for the time of the reading, another
    /// one reads from the socket, and nothing is written.
    func readRest(from socket: OpenedSocket) {
        guard fatal == nil, let ssl, socket.isEndedByPeer, let reader = SSL_get_rbio(ssl),
            let writer = SSL_get_wbio(ssl),
            let source = BIO_new_socket(socket.descriptor, BIO_NOCLOSE)
        else { return }
        guard let sink = BIO_new(BIO_s_null()) else {
            BIO_free(source)
            return
        }
        // A BIO that is taken out loses one reference.
        BIO_up_ref(reader)
        BIO_up_ref(writer)
        SSL_set0_rbio(ssl, source)
        SSL_set0_wbio(ssl, sink)
        OpenSSLError.discarding {
            var byte: UInt8 = 0
            _ = SSL_peek(ssl, &byte, 1)
        }
        SSL_set0_rbio(ssl, reader)
        SSL_set0_wbio(ssl, writer)
    }

    fileprivate func stateChanged(of ssl: OpaquePointer, _ kind: Int32, _ value: Int32) {
        self.ssl = ssl
        guard kind & SSL_CB_READ_ALERT == SSL_CB_READ_ALERT, fatal == nil else { return }
        let (level, description) = (value >> 8, value & 0xFF)
        // The level means nothing in TLS 1.3, where all alerts but these two are fatal (RFC 8446 §6).
        let isClosure = description == SSL3_AD_CLOSE_NOTIFY || description == TLS1_AD_USER_CANCELLED
        let isFatal = SSL_version(ssl) >= TLS1_3_VERSION ? !isClosure : level == SSL3_AL_FATAL
        if isFatal { fatal = TLSAlert(description: UInt8(description)) }
    }

    fileprivate func connectionIsFreed() {
        isOver = true
        ssl = nil
    }
}

/// The handshake proceeds, or an alert was read or written.
///
/// On the loop's thread. The context keeps the object.
private func alertPassed(_ ssl: OpaquePointer?, _ kind: Int32, _ value: Int32) {
    guard let ssl, let owner = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), PeerAlerts.index) else { return }
    Unmanaged<PeerAlerts>.fromOpaque(owner).takeUnretainedValue().stateChanged(of: ssl, kind, value)
}

/// An `SSL_CTX` is freed, after its only connection.
private func connectionFreed(
    _: UnsafeMutableRawPointer?, _ owner: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CRYPTO_EX_DATA>?, _: Int32,
    _: Int, _: UnsafeMutableRawPointer?
) {
    guard let owner else { return }
    Unmanaged<PeerAlerts>.fromOpaque(owner).takeRetainedValue().connectionIsFreed()
}
