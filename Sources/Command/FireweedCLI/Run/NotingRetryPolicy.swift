// Retries with messages to the user.

import Fireweed
import Foundation
import Synchronization

/// Prints on standard error each retry and its delay, and why a transient failure is not retried.
final class NotingRetryPolicy: RetryPolicy, @unchecked Sendable {
    // SAFETY: every stored property is a `let` of `Sendable` type.
    private let isQuiet: Bool
    /// Whether not even the refusal of a retry is printed, as with curl's `-s`.
    private let isSilent: Bool
    /// The least delay, in seconds.
    private let leastDelay: Double
    /// Whether the content can be read only once.
    private let isReadOnce: Bool
    /// Tells the heads of one attempt from those of the next.
    private let recorder: WireRecorder?
    /// Whether the message that there is no retry was printed: the policy may be asked more than once.
    private let hasRefused = Atomic(false)
    /// The retries that `isRetried(_:for:)` has decided on and that have not begun, by the identifiers of the requests.
    private let decided = Mutex<[UUID: RetryResult]>([:])

    /// The error of a response whose request is tried again for the response's status.
    struct RetriedStatus: Error {}

    /// Makes a policy; `delay`, in seconds, applies unless the server asks for a longer one, and `scale` is the first
    /// wait without `delay`.
    init(
        limit: UInt, methods: Set<HTTPMethod>, statuses: Set<Int>, delay: Double?, scale: Double, isQuiet: Bool,
        isSilent: Bool, isReadOnce: Bool, recorder: WireRecorder?, options: RetryOptions
    ) {
        self.isQuiet = isQuiet
        self.isSilent = isSilent
        self.isReadOnce = isReadOnce
        self.recorder = recorder
        leastDelay = delay ?? 0
        var options = options
        if let delay {
            // The delay is set as the policy's own, so that the policy compares it with the deadline.
            options.jitter = .none
            options.maximumDelay = .seconds(delay)
        }
        super.init(
            retryLimit: limit, exponentialBackoffBase: RetryPolicy.defaultExponentialBackoffBase,
            exponentialBackoffScale: delay ?? scale,
            retryableHTTPMethods: methods, retryableHTTPStatusCodes: statuses,
            retryableURLErrorCodes: RetryPolicy.defaultRetryableURLErrorCodes, options: options)
    }

    /// Whether the request is tried again for the status of its response; to be asked while the response is validated.
    ///
    /// A status that stays is a result, whose content is kept like that of any other.
    func isRetried(_ request: Request, for session: Session) -> Bool {
        guard let status = request.response?.statusCode, retryableHTTPStatusCodes.contains(status) else { return false }
        let error = AFError.responseValidationFailed(reason: .customValidationFailed(error: RetriedStatus()))
        let id = request.id
        decide(request, session, error) { [self] result in
            if case .retryWithDelay = result { decided.withLock { $0[id] = result } }
        }
        return decided.withLock { $0[id] != nil }
    }

    override func shouldRetry(request: Request, dueTo error: any Error) -> Bool {
        super.shouldRetry(request: request, dueTo: error)
            && !(request.request?.method.map { isLost($0, error) } ?? false)
    }

    /// Whether a request may have taken effect before its connection was lost, and must not do so again.
    ///
    /// curl repeats every method after a time-out or a status, but none after a lost connection.
    private func isLost(_ method: HTTPMethod, _ error: any Error) -> Bool {
        !Self.defaultRetryableHTTPMethods.contains(method) && error.urlErrorCode == .networkConnectionLost
    }

    override func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        if let result = decided.withLock({ $0.removeValue(forKey: request.id) }) { return completion(result) }
        decide(request, session, error, completion)
    }

    /// Decides about a retry, calls `completion` before it returns, and prints the decision.
    private func decide(
        _ request: Request, _ session: Session, _ error: any Error,
        _ completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        let count = request.retryCount
        let cause = Self.cause(request, error)
        let (limit, isQuiet, leastDelay) = (retryLimit, isQuiet, leastDelay)
        let reason = reason(against: request, error)
        if isReadOnce, let reason, request.uploadProgress.completedUnitCount > 0 {
            tellRefusal(cause, reason)
            return completion(.doNotRetry)
        }
        super.retry(request, for: session, dueTo: error) { result in
            guard case .retryWithDelay(let wanted) = result else {
                if let reason, count < Int(limit) { self.tellRefusal(cause, reason) }
                return completion(result)
            }
            // As in curl, a `Retry-After` of 0 or in the past is no other delay.
            let seconds = max(wanted, leastDelay)
            if !isQuiet {
                let time = String(format: "%.1f", seconds)
                Terminal.tell("fireweed: \(cause); retry \(count + 1) of \(limit) in \(time) s\n")
            }
            self.recorder?.noteRetry()
            completion(.retryWithDelay(seconds))
        }
    }

    private func tellRefusal(_ cause: String, _ reason: String) {
        guard !hasRefused.exchange(true, ordering: .relaxed), !isSilent else { return }
        Terminal.tell("fireweed: \(cause); not tried again: \(reason)\n")
    }

    private static func cause(_ request: Request, _ error: any Error) -> String {
        let isOfStatus = error.asAFError?.underlyingError is RetriedStatus
        if isOfStatus, let status = request.response?.statusCode { return "the status is \(status)" }
        return error.asAFError.map { ErrorText($0).message } ?? error.plainText
    }

    /// Returns the reason for not retrying a transient failure; `nil` for every other failure.
    private func reason(against request: Request, _ error: any Error) -> String? {
        let code = error.urlErrorCode
        let status = request.response?.statusCode
        let mayPass =
            status.map(retryableHTTPStatusCodes.contains) == true
            || code.map(retryableURLErrorCodes.contains) == true
        guard mayPass, let method = request.request?.method else { return nil }
        if !retryableHTTPMethods.contains(method) || isLost(method, error) {
            return "a \(method.rawValue) could take effect twice"
        }
        if isReadOnce, request.uploadProgress.completedUnitCount > 0 { return "the content cannot be read again" }
        // The only other reason for a refusal is that the delay is too long.
        if options.deadline != nil { return "the next attempt would come after --retry-max-time" }
        return "the server asks to wait for longer than a minute; --retry-delay waits for as long as it says itself"
    }
}

extension Error {
    /// The code of this `URLError`, or of the cause of this `AFError`.
    fileprivate var urlErrorCode: URLError.Code? {
        (self as? URLError)?.code ?? (asAFError?.underlyingError as? URLError)?.code
    }
}
