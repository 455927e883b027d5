// Retries with messages to the user.

import Fireweed
import Foundation
import Synchronization

/// Prints on standard error each retry and its delay, and why a transient failure is not retried.
final class NotingRetryPolicy: RetryPolicy, @unchecked Sendable {
    // SAFETY: every stored property is a `let` of `Sendable` type.
    private let isQuiet: Bool
    /// Whether the content can be read only once.
    private let isReadOnce: Bool
    /// Whether the message that there is no retry was printed: the policy may be asked more than once.
    private let hasRefused = Atomic(false)

    /// Makes a policy; `delay`, in seconds, applies unless the server asks for another delay.
    init(
        limit: UInt, methods: Set<HTTPMethod>, statuses: Set<Int>, delay: Double?, isQuiet: Bool, isReadOnce: Bool,
        options: RetryOptions
    ) {
        self.isQuiet = isQuiet
        self.isReadOnce = isReadOnce
        var options = options
        if let delay {
            // The delay is set as the policy's own, so that the policy compares it with the deadline.
            options.jitter = .none
            options.maximumDelay = .seconds(delay)
        }
        super.init(
            retryLimit: limit, exponentialBackoffBase: RetryPolicy.defaultExponentialBackoffBase,
            exponentialBackoffScale: delay ?? RetryPolicy.defaultExponentialBackoffScale,
            retryableHTTPMethods: methods, retryableHTTPStatusCodes: statuses,
            retryableURLErrorCodes: RetryPolicy.defaultRetryableURLErrorCodes, options: options)
    }

    override func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        let count = request.retryCount
        let cause = Self.cause(request, error)
        let (limit, isQuiet) = (retryLimit, isQuiet)
        let reason = reason(against: request, error)
        if isReadOnce, let reason, request.uploadProgress.completedUnitCount > 0 {
            if !hasRefused.exchange(true, ordering: .relaxed) {
                Terminal.tell("fireweed: \(cause); not tried again: \(reason)\n")
            }
            return completion(.doNotRetry)
        }
        super.retry(request, for: session, dueTo: error) { result in
            guard case .retryWithDelay(let seconds) = result else {
                let isFirst = !self.hasRefused.exchange(true, ordering: .relaxed)
                if let reason, isFirst, count < Int(limit) {
                    Terminal.tell("fireweed: \(cause); not tried again: \(reason)\n")
                }
                return completion(result)
            }
            if !isQuiet {
                let time = String(format: "%.1f", seconds)
                Terminal.tell("fireweed: \(cause); retry \(count + 1) of \(limit) in \(time) s\n")
            }
            completion(.retryWithDelay(seconds))
        }
    }

    private static func cause(_ request: Request, _ error: any Error) -> String {
        let isOfStatus = error.asAFError?.underlyingError is RequestRunner.RefusedStatus
        if isOfStatus, let status = request.response?.statusCode { return "the status is \(status)" }
        return error.asAFError.map { ErrorText($0).message } ?? error.plainText
    }

    /// Returns the reason for not retrying a transient failure; `nil` for every other failure.
    private func reason(against request: Request, _ error: any Error) -> String? {
        let code = (error as? URLError)?.code ?? (error.asAFError?.underlyingError as? URLError)?.code
        let status = request.response?.statusCode
        let mayPass =
            status.map(retryableHTTPStatusCodes.contains) == true
            || code.map(retryableURLErrorCodes.contains) == true
        guard mayPass, let method = request.request?.method else { return nil }
        if !retryableHTTPMethods.contains(method) { return "a \(method.rawValue) could take effect twice" }
        if isReadOnce, request.uploadProgress.completedUnitCount > 0 { return "the content cannot be read again" }
        // The only other reason for a refusal is that the delay is too long.
        if options.deadline != nil { return "the next attempt would come after --retry-max-time" }
        return "the server asks to wait for longer than a minute"
    }
}
