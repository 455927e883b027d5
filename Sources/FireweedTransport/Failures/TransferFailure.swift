// Reasons why a transfer ended without a response.

public import Foundation

/// The cause of a failed transfer, which converts to a `URLError`.
public enum TransferFailure: Error, Sendable {
    /// The transfer was cancelled by its owner.
    case cancelled
    /// The exchange failed; `detail` describes the failure, and `engineCode` is a number from the cause, such as an
    /// errno, or 0.
    case exchange(URLError.Code, detail: String, engineCode: Int)
    /// The content of the request could not be read.
    case unreadableBody(any Error)
    /// The session's trust rules refused the peer's certificate chain, with this error.
    case untrusted(any Error)
    /// A limit or a rule of the session's options ended the transfer.
    case refused(TransferRefusal)
    /// A `URLProtocol`, a ``TransportGuard`` or another implementation of ``Transport`` failed with this error.
    case reported(any Error)

    /// The error that users see: the reported error, or otherwise `urlError(failingURL:)`.
    package func error(failingURL: String) -> any Error {
        if case .reported(let error) = self { error } else { urlError(failingURL: failingURL) }
    }

    /// The error as Apple's URLSession would report it, with the failure's text under `engineDetailKey`.
    public func urlError(failingURL: String) -> URLError {
        switch self {
        case .cancelled: Self.make(.cancelled, detail: "cancelled", failingURL: failingURL)
        case .exchange(let code, let detail, _): Self.make(code, detail: detail, failingURL: failingURL)
        case .unreadableBody(let error):
            Self.make(
                (error as? URLError)?.code ?? .requestBodyStreamExhausted, detail: error.plainText,
                failingURL: failingURL, underlying: error)
        case .reported(let error):
            error as? URLError
                ?? Self.make(.unknown, detail: error.plainText, failingURL: failingURL, underlying: error)
        case .refused(let refusal):
            Self.make(refusal.urlErrorCode, detail: refusal.plainText, failingURL: failingURL, underlying: refusal)
        case .untrusted(let error):
            Self.make(
                (error as? TrustFailure)?.urlErrorCode ?? (error as? URLError)?.code ?? .serverCertificateUntrusted,
                detail: error.plainText, failingURL: failingURL, underlying: error)
        }
    }

    /// The `userInfo` key of the transport's own description of a failure.
    public static let engineDetailKey = "FireweedTransportDetail"

    private static func make(
        _ code: URLError.Code, detail: String, failingURL: String, underlying: (any Error)? = nil
    ) -> URLError {
        var info: [String: Any] = [
            NSLocalizedDescriptionKey: detail,
            engineDetailKey: detail,
        ]
        if let url = URL(string: failingURL) { info[NSURLErrorFailingURLErrorKey] = url }
        if let underlying { info[NSUnderlyingErrorKey] = underlying }
        return URLError(code, userInfo: info)
    }
}

extension TransferFailure: LocalizedError {
    /// The text of ``urlError(failingURL:)``, or of the reported error.
    public var errorDescription: String? { error(failingURL: "").plainText }
}

extension TransferFailure {
    /// The failure of a transfer that a transport ended as a success without delivering a head.
    package static let withoutResponse = TransferFailure.exchange(
        .badServerResponse, detail: "the transport ended without a response", engineCode: 0)

    /// The failure when an HTTP/2 server allows no streams, not even on a new connection.
    static let noStreams = TransferFailure.exchange(
        .networkConnectionLost, detail: "the server allows no streams (MAX_CONCURRENT_STREAMS is 0)", engineCode: 0)
}

extension TransferFailure {
    /// The failure of every exchange in a process that was forked after its session had begun to work.
    static let forked = TransferFailure.exchange(
        .cannotLoadFromNetwork,
        detail: "this process was forked from one that had used the session: the session's threads are not here; "
            + "make a new session after fork(), or fork before the first session is made",
        engineCode: 0)
}

extension TransferFailure {
    /// The failure of a message that asks for a WebSocket, when the transport does not support WebSockets.
    static let noWebSockets = TransferFailure.exchange(
        .unsupportedURL, detail: "this transport has no WebSockets (`TransportAbilities.webSockets`)", engineCode: 0)

    /// The failure when a time limit, which `detail` names, was exceeded.
    static func timedOut(_ detail: String) -> TransferFailure {
        .exchange(.timedOut, detail: detail, engineCode: 0)
    }
}
