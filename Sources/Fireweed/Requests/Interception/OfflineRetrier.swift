// Retries when the network is back.

public import Dispatch
public import Foundation
import FoundationNetworking
import Synchronization

/// Retries requests that failed because the machine was offline, as soon as a route exists.
///
/// A request waits for a route for `maximumWait` at most; when none appears, the request ends with its original error.
/// All waiting requests share one listener for network changes, which runs only while requests wait. Requests of every
/// HTTP method are retried: a request that had no route was not sent.
public final class OfflineRetrier: RequestInterceptor, Sendable {
    /// Decides whether an error means that the machine was offline.
    public typealias OfflineErrorTest = @Sendable (_ error: any Error) -> Bool

    /// The default maximum wait: five seconds.
    public static let defaultWait = DispatchTimeInterval.seconds(5)
    /// The error codes for an offline machine: `notConnectedToInternet`.
    public static let defaultURLErrorOfflineCodes: Set<URLError.Code> = [.notConnectedToInternet]
    /// True for a `URLError` with one of the default codes, or an `AFError` around one.
    public static let defaultIsOfflineError: OfflineErrorTest = { error in
        let code = (error as? URLError)?.code ?? (error.asAFError?.underlyingError as? URLError)?.code
        return code.map(defaultURLErrorOfflineCodes.contains) ?? false
    }

    /// The longest time for which a request waits for a route; `.never` sets no limit.
    public let maximumWait: DispatchTimeInterval
    private let isOfflineError: OfflineErrorTest
    private let filter: InterfaceFilter
    private let watch = ConnectivityWatch()

    /// Makes a retrier that waits for any route.
    ///
    /// - Parameters:
    ///   - maximumWait: how long a request waits for a route; 5 seconds by default.
    ///   - isOfflineError: decides whether an error means that the machine was offline; by default
    ///     ``defaultIsOfflineError``.
    @preconcurrency
    public convenience init(
        maximumWait: DispatchTimeInterval = OfflineRetrier.defaultWait,
        isOfflineError: @escaping OfflineErrorTest = OfflineRetrier.defaultIsOfflineError
    ) {
        self.init(filter: .any, maximumWait: maximumWait, isOfflineError: isOfflineError)
    }

    /// Makes a retrier that waits for a route over an interface of one type.
    ///
    /// Requests do not have to take that route: the kernel chooses the interface.
    ///
    /// - Parameters:
    ///   - requiredInterfaceType: the type of the interface.
    ///   - maximumWait: how long a request waits for a route; 5 seconds by default.
    ///   - isOfflineError: decides whether an error means that the machine was offline; by default
    ///     ``defaultIsOfflineError``.
    @preconcurrency
    public convenience init(
        requiredInterfaceType: NetworkInterfaceType, maximumWait: DispatchTimeInterval = OfflineRetrier.defaultWait,
        isOfflineError: @escaping OfflineErrorTest = OfflineRetrier.defaultIsOfflineError
    ) {
        self.init(filter: .required(requiredInterfaceType), maximumWait: maximumWait, isOfflineError: isOfflineError)
    }

    /// Makes a retrier that waits for a route over an interface of a type that is not prohibited.
    ///
    /// Requests do not have to take that route: the kernel chooses the interface.
    ///
    /// - Parameters:
    ///   - prohibitedInterfaceTypes: the types of interfaces whose routes are ignored.
    ///   - maximumWait: how long a request waits for a route; 5 seconds by default.
    ///   - isOfflineError: decides whether an error means that the machine was offline; by default
    ///     ``defaultIsOfflineError``.
    @preconcurrency
    public convenience init(
        prohibitedInterfaceTypes: [NetworkInterfaceType],
        maximumWait: DispatchTimeInterval = OfflineRetrier.defaultWait,
        isOfflineError: @escaping OfflineErrorTest = OfflineRetrier.defaultIsOfflineError
    ) {
        self.init(
            filter: .prohibited(Set(prohibitedInterfaceTypes)), maximumWait: maximumWait, isOfflineError: isOfflineError
        )
    }

    private init(
        filter: InterfaceFilter, maximumWait: DispatchTimeInterval, isOfflineError: @escaping OfflineErrorTest
    ) {
        self.filter = filter
        self.maximumWait = maximumWait
        self.isOfflineError = isOfflineError
    }

    /// Retries when the machine was offline and a route appears in time.
    ///
    /// For the first retry of a request, an existing route suffices. For later retries, the network must change first.
    @preconcurrency
    public func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        // A serialiser rethrows the request's error. As in Alamofire, the retriers are then asked again about this
        // error, although they have decided: `isRetryRefused` is true.
        guard isOfflineError(error), !request.isRetryRefused else { return completion(.doNotRetry) }
        let subject = request.request?.url.map(RouteSubject.of) ?? RouteSubject(host: nil)
        _ = watch.wait(
            for: subject, over: filter, within: maximumWait.duration, by: session.clock,
            wantsChange: request.retryCount > 0
        ) { isAvailable in
            completion(isAvailable ? .retry : .doNotRetry)
        }
    }
}

extension DispatchTimeInterval {
    /// The interval as a duration; `nil` for `never`.
    fileprivate var duration: Duration? {
        switch self {
        case .seconds(let count): .seconds(count)
        case .milliseconds(let count): .milliseconds(count)
        case .microseconds(let count): .microseconds(count)
        case .nanoseconds(let count): .nanoseconds(count)
        case .never: nil
        @unknown default: nil
        }
    }
}

extension RequestInterceptor where Self == OfflineRetrier {
    /// The default retrier for offline errors.
    public static var offlineRetrier: OfflineRetrier { OfflineRetrier() }

    /// A retrier that waits for any route.
    ///
    /// - Parameters:
    ///   - maximumWait: how long a request waits for a route; 5 seconds by default.
    ///   - isOfflineError: decides whether an error means that the machine was offline; by default only
    ///     `URLError.notConnectedToInternet` does.
    /// - Returns: the retrier.
    @preconcurrency
    public static func offlineRetrier(
        maximumWait: DispatchTimeInterval = OfflineRetrier.defaultWait,
        isOfflineError: @escaping OfflineRetrier.OfflineErrorTest = OfflineRetrier.defaultIsOfflineError
    ) -> OfflineRetrier {
        OfflineRetrier(maximumWait: maximumWait, isOfflineError: isOfflineError)
    }

    /// A retrier that waits for a route over an interface of one type.
    ///
    /// - Parameters:
    ///   - requiredInterfaceType: the type of the interface.
    ///   - maximumWait: how long a request waits for a route; 5 seconds by default.
    ///   - isOfflineError: decides whether an error means that the machine was offline; by default only
    ///     `URLError.notConnectedToInternet` does.
    /// - Returns: the retrier.
    @preconcurrency
    public static func offlineRetrier(
        requiredInterfaceType: NetworkInterfaceType, maximumWait: DispatchTimeInterval = OfflineRetrier.defaultWait,
        isOfflineError: @escaping OfflineRetrier.OfflineErrorTest = OfflineRetrier.defaultIsOfflineError
    ) -> OfflineRetrier {
        OfflineRetrier(
            requiredInterfaceType: requiredInterfaceType, maximumWait: maximumWait, isOfflineError: isOfflineError)
    }

    /// A retrier that waits for a route over an interface of a type that is not prohibited.
    ///
    /// - Parameters:
    ///   - prohibitedInterfaceTypes: the types of interfaces whose routes are ignored.
    ///   - maximumWait: how long a request waits for a route; 5 seconds by default.
    ///   - isOfflineError: decides whether an error means that the machine was offline; by default only
    ///     `URLError.notConnectedToInternet` does.
    /// - Returns: the retrier.
    @preconcurrency
    public static func offlineRetrier(
        prohibitedInterfaceTypes: [NetworkInterfaceType],
        maximumWait: DispatchTimeInterval = OfflineRetrier.defaultWait,
        isOfflineError: @escaping OfflineRetrier.OfflineErrorTest = OfflineRetrier.defaultIsOfflineError
    ) -> OfflineRetrier {
        OfflineRetrier(
            prohibitedInterfaceTypes: prohibitedInterfaceTypes, maximumWait: maximumWait,
            isOfflineError: isOfflineError)
    }
}
