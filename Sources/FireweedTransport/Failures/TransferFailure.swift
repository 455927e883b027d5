// Reasons why a transfer ended without a response.

public import Foundation

/// The cause of a failed transfer, in the words of `URLError`.
public enum TransferFailure: Error, Sendable {
    /// The transfer was cancelled by its owner.
    case cancelled
    /// The exchange failed; `detail` is the library's own text, and `engineCode` its number.
    case exchange(URLError.Code, detail: String, engineCode: Int)
    /// The content of the request could not be read.
    case unreadableBody(any Error)
    /// The peer's certificate chain was refused by the session's own rules, with the rule's error.
    case untrusted(any Error)
    /// A limit or a rule of the session's own options ended it.
    case refused(TransferRefusal)
    /// What performed the exchange failed with an error of its own: a `URLProtocol`, or another implementation of
    /// ``Transport``.
    case reported(any Error)

    /// The error that users see: the one that was reported, else `urlError(failingURL:)`.
    package func error(failingURL: String) -> any Error {
        if case .reported(let error) = self { error } else { urlError(failingURL: failingURL) }
    }

    /// The error as Apple's URLSession would report it, with the engine's text under `engineDetailKey`.
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
                (error as? TrustFailure)?.urlErrorCode ?? .serverCertificateUntrusted, detail: error.plainText,
                failingURL: failingURL, underlying: error)
        }
    }

    /// The key in an error's `userInfo` under which the transport's own description of a failure stands.
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
    /// A transport ended a transfer as a success, and had delivered no head.
    package static let withoutResponse = TransferFailure.exchange(
        .badServerResponse, detail: "the transport ended without a response", engineCode: 0)

    /// A server of HTTP/2 lets no stream begin, on a new connection neither.
    static let noStreams = TransferFailure.exchange(
        .networkConnectionLost, detail: "the server allows no streams (MAX_CONCURRENT_STREAMS is 0)", engineCode: 0)
}

extension TransferFailure {
    /// What every exchange of a session fails with in a process that was forked after the session had begun to work.
    static let forked = TransferFailure.exchange(
        .cannotLoadFromNetwork,
        detail: "this process was forked from one that had used the session: the session's threads are not here; "
            + "make a new session after fork(), or fork before the first session is made",
        engineCode: 0)
}

extension TransferFailure {
    /// A message asks for a WebSocket, and the transport has not the ability.
    static let noWebSockets = TransferFailure.exchange(
        .unsupportedURL, detail: "this transport has no WebSockets (`TransportAbilities.webSockets`)", engineCode: 0)

    /// Something took longer than it may, as the detail says.
    static func timedOut(_ detail: String) -> TransferFailure {
        .exchange(.timedOut, detail: detail, engineCode: 0)
    }
}
