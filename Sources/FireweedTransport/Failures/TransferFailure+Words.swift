// Failures as words for metrics, traces and logs.

import Foundation

extension TransferFailure {
    /// The kind of failure as a word from a short list, for OpenTelemetry's `error.type`; `nil` for a transfer that its
    /// owner cancelled, which is not a failure.
    package var word: String? {
        switch self {
        case .cancelled: nil
        case .exchange(let code, _, _): code.word
        case .unreadableBody: "unreadable_content"
        case .untrusted: URLError.Code.serverCertificateUntrusted.word
        case .refused: "limit_exceeded"
        case .reported(let error as OverloadError): error.word
        case .reported(let error as URLError): error.code == .cancelled ? nil : error.code.word
        case .reported: URLError.Code.otherWord
        }
    }
}

extension OverloadError {
    /// The kind of failure, as in ``TransferFailure/word``.
    package var word: String { "overloaded" }
}

extension URLError.Code {
    /// The word for a failure that has no specific word.
    package static let otherWord = "_OTHER"

    /// The kind of failure, as in ``TransferFailure/word``.
    package var word: String {
        switch self {
        case .timedOut: "timeout"
        case .badURL, .unsupportedURL: "bad_url"
        case .cannotFindHost, .dnsLookupFailed: "cannot_find_host"
        case .cannotConnectToHost: "cannot_connect_to_host"
        case .networkConnectionLost: "connection_lost"
        case .notConnectedToInternet, .internationalRoamingOff, .dataNotAllowed, .callIsActive: "not_connected"
        case .httpTooManyRedirects, .redirectToNonExistentLocation: "bad_redirect"
        case .badServerResponse, .cannotParseResponse: "bad_response"
        case .cannotDecodeRawData, .cannotDecodeContentData: "bad_content"
        case .dataLengthExceedsMaximum: "limit_exceeded"
        case .resourceUnavailable, .appTransportSecurityRequiresSecureConnection: "not_allowed"
        case .requestBodyStreamExhausted: "unreadable_content"
        case .secureConnectionFailed: "secure_connection_failed"
        case .serverCertificateHasBadDate, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
            .serverCertificateNotYetValid:
            "server_certificate_invalid"
        case .clientCertificateRejected, .clientCertificateRequired: "client_certificate_refused"
        case .userAuthenticationRequired, .userCancelledAuthentication: "authentication_failed"
        default: Self.otherWord
        }
    }
}
