// Errors of an `AuthenticationInterceptor`.

public import Foundation

/// Why an ``AuthenticationInterceptor`` could not authenticate a request.
///
/// Arrives inside `AFError.requestAdaptationFailed(error:)` or `AFError.requestRetryFailed(retryError:originalError:)`.
public enum AuthenticationError: Error, Hashable, Sendable {
    /// The interceptor has no credential; set one.
    case missingCredential
    /// As many refreshes as the refresh window allows were begun within its interval; without a window, the request has
    /// waited for 100 refreshes in a row.
    case excessiveRefresh
}

extension AuthenticationError {
    /// Whether an interceptor itself has failed a request with this error.
    ///
    /// The request's last response is then older than the error.
    static func isCause(of error: any Error) -> Bool {
        switch error {
        case is AuthenticationError: true
        case AFError.requestAdaptationFailed(let cause): isCause(of: cause)
        case AFError.requestRetryFailed(let cause, _): isCause(of: cause)
        default: false
        }
    }
}

extension AuthenticationError: LocalizedError {
    /// What is missing, or what came too often.
    public var errorDescription: String? {
        switch self {
        case .missingCredential: "There is no credential to authenticate the request with."
        case .excessiveRefresh: "The credential was refreshed too often within the refresh window."
        }
    }
}
