import Alamofire
import Foundation

/// An interceptor above Alamofire's.
public final class TracingInterceptor: Interceptor, @unchecked Sendable {
    private let trace: @Sendable (String) -> Void

    public init(trace: @escaping @Sendable (String) -> Void) {
        self.trace = trace
        super.init(adapters: [], retriers: [RetryPolicy(retryLimit: 1)], interceptors: [])
    }

    public override func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        trace("adapt")
        super.adapt(urlRequest, for: session, completion: completion)
    }

    public override func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        trace("adapt \(state.requestID)")
        super.adapt(urlRequest, using: state, completion: completion)
    }

    public override func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        trace("retry")
        super.retry(request, for: session, dueTo: error, completion: completion)
    }
}

/// Retries POST too, with a limit of its own.
public class PatientRetryPolicy: RetryPolicy, @unchecked Sendable {
    public init() {
        super.init(
            retryLimit: 3, exponentialBackoffBase: 2, exponentialBackoffScale: 0.01,
            retryableHTTPMethods: RetryPolicy.defaultRetryableHTTPMethods.union([.post]),
            retryableHTTPStatusCodes: [429, 503],
            retryableURLErrorCodes: RetryPolicy.defaultRetryableURLErrorCodes.subtracting([.timedOut]))
    }

    public override func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        guard request.retryCount < retryLimit, shouldRetry(request: request, dueTo: error) else {
            return super.retry(request, for: session, dueTo: error, completion: completion)
        }
        completion(
            .retryWithDelay(pow(Double(exponentialBackoffBase), Double(request.retryCount)) * exponentialBackoffScale))
    }

    public override func shouldRetry(request: Request, dueTo error: any Error) -> Bool {
        super.shouldRetry(request: request, dueTo: error) || request.response?.statusCode == 418
    }
}

final class LostConnections: ConnectionLostRetryPolicy, @unchecked Sendable {
    override init(
        retryLimit: UInt = 5, exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods
    ) {
        super.init(
            retryLimit: retryLimit, exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale, retryableHTTPMethods: retryableHTTPMethods)
    }
}

final class PrefixAdapter: Adapter, @unchecked Sendable {
    init(prefix: String) {
        super.init { request, _, completion in
            var request = request
            request.url = request.url.flatMap { URL(string: prefix + $0.absoluteString) }
            completion(.success(request))
        }
    }
}

final class NeverRetrier: Retrier, @unchecked Sendable {
    override func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        completion(.doNotRetry)
    }
}
