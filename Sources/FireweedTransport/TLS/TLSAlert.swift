// The TLS alert with which a peer ends a connection.

import COpenSSL
import Foundation

/// A TLS alert (RFC 8446 §6).
struct TLSAlert: Equatable {
    let description: UInt8

    /// OpenSSL's text for the alert; OpenSSL 3.0 lacks a text for `certificate_required`, an alert that TLS 1.3
    /// introduced.
    var text: String {
        Int32(description) == TLS13_AD_CERTIFICATE_REQUIRED
            ? "certificate required" : String(cString: SSL_alert_desc_string_long(Int32(description)))
    }

    /// The error code for an alert about the client's certificate; `nil` for any other alert.
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
