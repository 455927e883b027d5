// Retries with growing delays.

import FireweedTransport
public import Foundation
public import FoundationNetworking

/// Retries transient failures of requests whose method can be repeated, after growing delays.
///
/// The delay before a retry is base^retryCount × scale seconds.
open class RetryPolicy: @unchecked Sendable, RequestInterceptor {
    // SAFETY: every stored property is a `let` of `Sendable` type.

    /// How often a request is retried: 2.
    public static let defaultRetryLimit: UInt = 2
    /// The base of the delay: 2.
    public static let defaultExponentialBackoffBase: UInt = 2
    /// The scale of the delay, in seconds: 0.5.
    public static let defaultExponentialBackoffScale = 0.5
    /// Methods that RFC 9110 §9.2.2 calls idempotent.
    public static let defaultRetryableHTTPMethods: Set<HTTPMethod> = HTTPMethod.idempotent
    /// Status codes treated as transient: 408, 500, 502, 503, 504.
    public static let defaultRetryableHTTPStatusCodes: Set<Int> = [408, 500, 502, 503, 504]
    /// Codes of `URLError` treated as transient.
    public static let defaultRetryableURLErrorCodes: Set<URLError.Code> = URLError.transientCodes

    /// How often a request is retried.
    public let retryLimit: UInt
    /// The base of the delay; at least 2.
    public let exponentialBackoffBase: UInt
    /// The scale of the delay, in seconds.
    public let exponentialBackoffScale: Double
    /// The methods that are retried.
    public let retryableHTTPMethods: Set<HTTPMethod>
    /// The statuses that are retried.
    public let retryableHTTPStatusCodes: Set<Int>
    /// The failures that are retried.
    public let retryableURLErrorCodes: Set<URLError.Code>
    /// Jitter, `Retry-After`, budget, deadline and replays; all off by default.
    public let options: RetryOptions

    /// Makes a policy with Alamofire's options: the delay before retry n is base^n × scale seconds, with n from 0.
    ///
    /// - Parameters:
    ///   - retryLimit: how often a request is retried; 2 by default.
    ///   - exponentialBackoffBase: the base of the delay; 2 by default. A base below 2 is a programmer's error.
    ///   - exponentialBackoffScale: the scale of the delay, in seconds; 0.5 by default.
    ///   - retryableHTTPMethods: the methods that are retried; the idempotent ones (RFC 9110 §9.2.2) by default.
    ///   - retryableHTTPStatusCodes: the statuses that are retried; 408, 500, 502, 503 and 504 by default.
    ///   - retryableURLErrorCodes: the failures that are retried; the transient ones by default.
    public init(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        retryableHTTPStatusCodes: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
        retryableURLErrorCodes: Set<URLError.Code> = RetryPolicy.defaultRetryableURLErrorCodes
    ) {
        precondition(exponentialBackoffBase >= 2, "The base of an exponential delay must be 2 or more.")
        self.retryLimit = retryLimit
        self.exponentialBackoffBase = exponentialBackoffBase
        self.exponentialBackoffScale = exponentialBackoffScale
        self.retryableHTTPMethods = retryableHTTPMethods
        self.retryableHTTPStatusCodes = retryableHTTPStatusCodes
        self.retryableURLErrorCodes = retryableURLErrorCodes
        options = RetryOptions()
    }

    /// Makes a policy with options that Alamofire does not have.
    ///
    /// - Parameters:
    ///   - retryLimit: how often a request is retried; 2 by default.
    ///   - exponentialBackoffBase: the base of the delay; 2 by default. A base below 2 is a programmer's error.
    ///   - exponentialBackoffScale: the scale of the delay, in seconds; 0.5 by default.
    ///   - retryableHTTPMethods: the methods that are retried; the idempotent ones (RFC 9110 §9.2.2) by default.
    ///   - retryableHTTPStatusCodes: the statuses that are retried; 408, 500, 502, 503 and 504 by default.
    ///   - retryableURLErrorCodes: the failures that are retried; the transient ones by default.
    ///   - options: jitter, `Retry-After`, budget, deadline and replays.
    public init(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        retryableHTTPStatusCodes: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
        retryableURLErrorCodes: Set<URLError.Code> = RetryPolicy.defaultRetryableURLErrorCodes,
        options: RetryOptions
    ) {
        precondition(exponentialBackoffBase >= 2, "The base of an exponential delay must be 2 or more.")
        self.retryLimit = retryLimit
        self.exponentialBackoffBase = exponentialBackoffBase
        self.exponentialBackoffScale = exponentialBackoffScale
        self.retryableHTTPMethods = retryableHTTPMethods
        self.retryableHTTPStatusCodes = retryableHTTPStatusCodes
        self.retryableURLErrorCodes = retryableURLErrorCodes
        self.options = options
    }

    /// Passes the request on unchanged, and counts it for the budget, if there is one.
    @preconcurrency
    open func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        options.budget?.noteRequest()
        completion(.success(urlRequest))
    }

    /// Retries after a delay, if the limit is not reached, `shouldRetry` returns true, no option forbids the retry, and
    /// the error is not the refusal of a guard or a queue.
    @preconcurrency
    open func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        if error.overload != nil {
            options.budget?.noteRefusal(of: request)
            return completion(.doNotRetry)
        }
        guard request.retryCount < Int(clamping: retryLimit), shouldRetry(request: request, dueTo: error),
            let seconds = delay(before: request, clock: session.transport.clock),
            options.budget?.takeRetry(of: request) ?? true
        else { return completion(.doNotRetry) }
        completion(.retryWithDelay(seconds))
    }

    private func delay(before request: Request, clock: any SessionClock) -> TimeInterval? {
        let delay = RetryDelay(base: exponentialBackoffBase, scale: exponentialBackoffScale, options: options)
        var circumstances = RetryDelay.RetryContext(
            retryCount: request.retryCount, elapsed: 0, now: clock.now, random: Double.random(in: 0...1))
        if options.retryAfter != .ignore {
            circumstances.retryAfter = request.response?.value(forHTTPHeaderField: "Retry-After")
        }
        if options.deadline != nil, let first = request.firstAttempt {
            circumstances.elapsed = first.startNanoseconds.seconds(until: clock.monotonicNanoseconds)
        }
        return delay.seconds(for: circumstances)
    }

    /// Whether a failed request may be retried: its method, and its status or failure, are among the retryable ones.
    ///
    /// ``RetryOptions/replays`` applies here; the limit and the other options do not. Subclasses may override this
    /// method.
    ///
    /// - Parameters:
    ///   - request: the request that failed.
    ///   - error: its error. Only a `URLError`, or one inside an ``AFError``, is compared with the retryable codes.
    /// - Returns: whether the request may be retried.
    open func shouldRetry(request: Request, dueTo error: any Error) -> Bool {
        let code = (error as? URLError)?.code ?? (error.asAFError?.underlyingError as? URLError)?.code
        guard mayReplay(request, after: code) else { return false }
        if let status = request.response?.statusCode, retryableHTTPStatusCodes.contains(status) { return true }
        return code.map(retryableURLErrorCodes.contains) ?? false
    }

    /// Whether the request may be sent again without harm, judging by its method, its failure and its fields.
    private func mayReplay(_ request: Request, after code: URLError.Code?) -> Bool {
        guard let urlRequest = request.request else { return false }
        if let method = urlRequest.method, retryableHTTPMethods.contains(method) { return true }
        if options.replays.contains(.unsent), let code, isUnsent(request, code) { return true }
        return options.replays.contains(.keyed) && urlRequest.value(forHTTPHeaderField: "Idempotency-Key") != nil
    }

    /// Whether no byte of the request was sent, neither to its origin nor to an origin that redirected the request.
    private func isUnsent(_ request: Request, _ code: URLError.Code) -> Bool {
        guard Self.connectFailures.contains(code) else { return false }
        let transactions = request.lastAttempt?.metrics?.transactionMetrics ?? []
        return transactions.count == 1 && transactions.allSatisfy { $0.countOfRequestHeaderBytesSent == 0 }
    }

    private static let connectFailures: Set<URLError.Code> = [
        .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .notConnectedToInternet,
    ]
}

/// Retries only when the connection was lost.
open class ConnectionLostRetryPolicy: RetryPolicy, @unchecked Sendable {
    // SAFETY: the class adds no stored property.

    /// Makes a policy with Alamofire's options.
    ///
    /// - Parameters:
    ///   - retryLimit: how often a request is retried; 2 by default.
    ///   - exponentialBackoffBase: the base of the delay; 2 by default. A base below 2 is a programmer's error.
    ///   - exponentialBackoffScale: the scale of the delay, in seconds; 0.5 by default.
    ///   - retryableHTTPMethods: the methods that are retried; the idempotent ones (RFC 9110 §9.2.2) by default.
    public init(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods
    ) {
        super.init(
            retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale, retryableHTTPMethods: retryableHTTPMethods,
            retryableHTTPStatusCodes: [], retryableURLErrorCodes: [.networkConnectionLost])
    }

    /// Makes a policy with options that Alamofire does not have.
    ///
    /// - Parameters:
    ///   - retryLimit: how often a request is retried; 2 by default.
    ///   - exponentialBackoffBase: the base of the delay; 2 by default. A base below 2 is a programmer's error.
    ///   - exponentialBackoffScale: the scale of the delay, in seconds; 0.5 by default.
    ///   - retryableHTTPMethods: the methods that are retried; the idempotent ones (RFC 9110 §9.2.2) by default.
    ///   - options: jitter, `Retry-After`, budget, deadline and replays.
    public init(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        options: RetryOptions
    ) {
        super.init(
            retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale, retryableHTTPMethods: retryableHTTPMethods,
            retryableHTTPStatusCodes: [], retryableURLErrorCodes: [.networkConnectionLost], options: options)
    }
}

extension Error {
    /// The refusal of a guard or a queue: this error, or the cause of this `AFError`.
    fileprivate var overload: OverloadError? {
        self as? OverloadError ?? asAFError?.underlyingError as? OverloadError
    }
}

extension RequestInterceptor where Self == RetryPolicy {
    /// The default policy.
    public static var retryPolicy: RetryPolicy { RetryPolicy() }

    /// Makes a policy with Alamofire's options.
    ///
    /// - Parameters:
    ///   - retryLimit: how often a request is retried; 2 by default.
    ///   - exponentialBackoffBase: the base of the delay; 2 by default. A base below 2 is a programmer's error.
    ///   - exponentialBackoffScale: the scale of the delay, in seconds; 0.5 by default.
    ///   - retryableHTTPMethods: the methods that are retried; the idempotent ones (RFC 9110 §9.2.2) by default.
    ///   - retryableHTTPStatusCodes: the statuses that are retried; 408, 500, 502, 503 and 504 by default.
    ///   - retryableURLErrorCodes: the failures that are retried; the transient ones by default.
    /// - Returns: the policy.
    public static func retryPolicy(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        retryableHTTPStatusCodes: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
        retryableURLErrorCodes: Set<URLError.Code> = RetryPolicy.defaultRetryableURLErrorCodes
    ) -> RetryPolicy {
        RetryPolicy(
            retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale, retryableHTTPMethods: retryableHTTPMethods,
            retryableHTTPStatusCodes: retryableHTTPStatusCodes, retryableURLErrorCodes: retryableURLErrorCodes)
    }

    /// Makes a policy with options that Alamofire does not have.
    ///
    /// - Parameters:
    ///   - retryLimit: how often a request is retried; 2 by default.
    ///   - exponentialBackoffBase: the base of the delay; 2 by default. A base below 2 is a programmer's error.
    ///   - exponentialBackoffScale: the scale of the delay, in seconds; 0.5 by default.
    ///   - retryableHTTPMethods: the methods that are retried; the idempotent ones (RFC 9110 §9.2.2) by default.
    ///   - retryableHTTPStatusCodes: the statuses that are retried; 408, 500, 502, 503 and 504 by default.
    ///   - retryableURLErrorCodes: the failures that are retried; the transient ones by default.
    ///   - options: jitter, `Retry-After`, budget, deadline and replays.
    /// - Returns: the policy.
    public static func retryPolicy(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        retryableHTTPStatusCodes: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
        retryableURLErrorCodes: Set<URLError.Code> = RetryPolicy.defaultRetryableURLErrorCodes,
        options: RetryOptions
    ) -> RetryPolicy {
        RetryPolicy(
            retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale, retryableHTTPMethods: retryableHTTPMethods,
            retryableHTTPStatusCodes: retryableHTTPStatusCodes, retryableURLErrorCodes: retryableURLErrorCodes,
            options: options)
    }
}

extension RequestInterceptor where Self == ConnectionLostRetryPolicy {
    /// The default policy for lost connections.
    public static var connectionLostRetryPolicy: ConnectionLostRetryPolicy { ConnectionLostRetryPolicy() }

    /// Makes a policy for lost connections, with Alamofire's options.
    ///
    /// - Parameters:
    ///   - retryLimit: how often a request is retried; 2 by default.
    ///   - exponentialBackoffBase: the base of the delay; 2 by default. A base below 2 is a programmer's error.
    ///   - exponentialBackoffScale: the scale of the delay, in seconds; 0.5 by default.
    ///   - retryableHTTPMethods: the methods that are retried; the idempotent ones (RFC 9110 §9.2.2) by default.
    /// - Returns: the policy.
    public static func connectionLostRetryPolicy(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods
    ) -> ConnectionLostRetryPolicy {
        ConnectionLostRetryPolicy(
            retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale, retryableHTTPMethods: retryableHTTPMethods)
    }

    /// Makes a policy for lost connections, with options that Alamofire does not have.
    ///
    /// - Parameters:
    ///   - retryLimit: how often a request is retried; 2 by default.
    ///   - exponentialBackoffBase: the base of the delay; 2 by default. A base below 2 is a programmer's error.
    ///   - exponentialBackoffScale: the scale of the delay, in seconds; 0.5 by default.
    ///   - retryableHTTPMethods: the methods that are retried; the idempotent ones (RFC 9110 §9.2.2) by default.
    ///   - options: jitter, `Retry-After`, budget, deadline and replays.
    /// - Returns: the policy.
    public static func connectionLostRetryPolicy(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        options: RetryOptions
    ) -> ConnectionLostRetryPolicy {
        ConnectionLostRetryPolicy(
            retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale, retryableHTTPMethods: retryableHTTPMethods,
            options: options)
    }
}
