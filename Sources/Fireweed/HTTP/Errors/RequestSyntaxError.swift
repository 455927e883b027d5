// Requests that break the syntax of HTTP.

public import Foundation

/// Why a request must not be sent: it could forge a header field or a whole request.
///
/// It is the underlying error of `AFError.createURLRequestFailed(error:)`, whichever part made the request: the caller,
/// an adapter or a redirect handler.
public enum RequestSyntaxError: Error, Sendable, Equatable, LocalizedError {
    /// The method is not a token (RFC 9110 §9.1).
    case invalidMethod(String)
    /// The name of a header field is not a token, or its value holds CR, LF or NUL (RFC 9110 §5.5).
    case invalidHeaderField(name: String)

    /// What is wrong with the request; values of fields are left out.
    public var errorDescription: String? {
        switch self {
        case .invalidMethod(let method): "The method \(method.debugDescription) is not a token of RFC 9110."
        case .invalidHeaderField(let name):
            "The header field \(name.debugDescription) has a name that is not a token, or a value with a line break or NUL."
        }
    }
}
