// Translation of OpenSSL's connection errors into ours.

import COpenSSL
import Foundation

/// Makes the failures of TLS connections, with the codes of `URLError`.
enum TLSFailure {
    /// Returns the failure of a handshake.
    ///
    /// `isCut` is true if the peer closed the connection. `failure` is the failure of the channel below, if any.
    static func ofHandshake(
        with host: String, _ errors: OpenSSLError, isCut: Bool, below failure: TransferFailure?
    ) -> TransferFailure {
        if let alert = alert(in: errors) { return .exchange(alert, otherwise: .secureConnectionFailed) }
        if case .refused = failure, let failure { return failure }
        let reason = isCut ? "the server closed the connection" : text(of: failure) ?? errors.description
        return .exchange(
            .secureConnectionFailed, detail: "the TLS handshake with \(host) failed: \(reason)",
            engineCode: Int(errors.entries.last?.reason ?? 0))
    }

    /// Returns the failure of a connection after its handshake.
    static func ofConnection(_ errors: OpenSSLError, isCut: Bool, below failure: TransferFailure?) -> TransferFailure {
        if let alert = alert(in: errors) { return .exchange(alert, otherwise: .networkConnectionLost) }
        if let failure { return failure }
        let detail =
            isCut
            ? "the connection was closed without the end of TLS (close_notify): what came may be cut off"
            : "TLS failed: \(errors)"
        return .exchange(
            .networkConnectionLost, detail: detail, engineCode: Int(errors.entries.last?.reason ?? 0))
    }

    /// Returns the first alert from the peer among the errors; `nil` if there is none.
    ///
    /// OpenSSL's error code for an alert is 1,000 plus the alert's number.
    static func alert(in errors: OpenSSLError) -> TLSAlert? {
        errors.entries.lazy.filter { $0.library == ERR_LIB_SSL }
            .compactMap { UInt8(exactly: $0.reason - SSL_AD_REASON_OFFSET) }.first.map { TLSAlert(description: $0) }
    }

    private static func text(of failure: TransferFailure?) -> String? {
        guard case .exchange(_, let detail, _) = failure else { return nil }
        return detail
    }
}

extension TransferFailure {
    fileprivate static func exchange(_ alert: TLSAlert, otherwise code: URLError.Code) -> TransferFailure {
        .exchange(
            alert.urlErrorCode ?? code,
            detail: "the server ended the connection with the TLS alert “\(alert.text)”",
            engineCode: Int(SSL_AD_REASON_OFFSET) + Int(alert.description))
    }
}
