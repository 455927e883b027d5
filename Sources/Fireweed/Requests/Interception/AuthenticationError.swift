// Errors of an `AuthenticationInterceptor`.

public import Foundation

/// Why an ``AuthenticationInterceptor`` could not authenticate a request.
///
/// Arrives inside `AFError.requestAdaptationFailed(error:)` or `AFError.requestRetryFailed(retryError:originalError:)`.
public enum AuthenticationError: Error, Hashable, Sendable {
    /// The interceptor has no credential; set one.
    case missingCredential
    /// The refresh window allows no further refresh within its interval; without a window, the request has waited for
    /// 100 refreshes in a row.
    case excessiveRefresh
}

extension AuthenticationError {
    /// Whether an interceptor ended a request with an `AuthenticationError`, directly or inside an `AFError`.
    ///
    /// The request's last response then does not explain the failure: it is older than the error.
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
    /// A sentence that says whether the credential is missing or was refreshed too often.
    public var errorDescription: String? {
        switch self {
        case .missingCredential: "There is no credential to authenticate the request with."
        case .excessiveRefresh: "The credential was refreshed too often within the refresh window."
        }
    }
}
