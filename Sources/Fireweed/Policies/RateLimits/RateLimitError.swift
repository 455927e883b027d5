// Reasons why a limiter refuses a request.

public import Foundation

/// Why a ``RateLimiter`` ended a request, or could not be made.
///
/// The error of a request arrives inside `AFError.requestAdaptationFailed(error:)`.
public enum RateLimitError: Error, Sendable, Hashable {
    /// The request would have to wait for this time, which is longer than `RateLimiter.maximumWait`.
    case waitTooLong(Duration)
    /// The file of a limiter cannot be used; thrown when the limiter is made.
    case cannotOpen(path: String, reason: String)
}

extension RateLimitError: LocalizedError {
    /// How long the request would have to wait, or what is wrong with the file.
    public var errorDescription: String? {
        switch self {
        case .waitTooLong(let duration): "The rate limit would hold the request back for \(duration)."
        case .cannotOpen(let path, let reason): "The rate limits at \(path) cannot be opened: \(reason)"
        }
    }
}
