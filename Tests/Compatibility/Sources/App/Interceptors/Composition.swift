import Alamofire
import Foundation

enum Interception {
    static let adapter = Adapter { request, session, completion in
        var request = request
        request.setValue("1", forHTTPHeaderField: "X-Adapted")
        _ = session.sessionConfiguration
        completion(.success(request))
    }

    static let retrier = Retrier { request, _, error, completion in
        completion(request.retryCount == 0 && error.asAFError?.responseCode == 503 ? .retryWithDelay(0.1) : .doNotRetry)
    }

    static let both = Interceptor(adapter: adapter, retrier: retrier)
    static let many = Interceptor(
        adapters: [adapter, PrefixAdapter(prefix: "https://example.com")], retriers: [RetryPolicy(), retrier],
        interceptors: [both, .connectionLostRetryPolicy])
    static let closures = Interceptor(
        adaptHandler: { request, _, completion in completion(.success(request)) },
        retryHandler: { _, _, _, completion in completion(.doNotRetry) })

    static func requests(_ session: Session, _ url: URL) {
        session.request(url, interceptor: .retryPolicy).resume()
        session.request(url, interceptor: .retryPolicy(retryLimit: 4)).resume()
        session.request(url, interceptor: .connectionLostRetryPolicy(retryLimit: 2)).resume()
        session.request(url, interceptor: .interceptor(adapters: [adapter], retriers: [retrier])).resume()
        session.request(url, interceptor: .interceptor(adapter: adapter, retrier: retrier)).resume()
        session.request(url, interceptor: .offlineRetrier).resume()
        session.request(url, interceptor: .offlineRetrier(maximumWait: .seconds(1))).resume()
        session.request(url, interceptor: .offlineRetrier(requiredInterfaceType: .wifi)).resume()
        session.request(url, interceptor: .offlineRetrier(prohibitedInterfaceTypes: [.cellular, .other])).resume()
        session.request(url, interceptor: OfflineRetrier(prohibitedInterfaceTypes: [.cellular])).resume()
        session.request(url)
            .interceptor(both)
            .adapt(using: .adapter { request, _, completion in completion(.success(request)) })
            .retry(using: .retrier { _, _, _, completion in completion(.doNotRetry) })
            .eventMonitor(NetworkLogger())
            .resume()
    }

    static let offline = OfflineRetrier(maximumWait: .seconds(10)) { error in
        (error.asAFError?.underlyingError as? URLError)?.code == .notConnectedToInternet
    }
    static let defaults: [any Sendable] = [
        OfflineRetrier.defaultWait, OfflineRetrier.defaultURLErrorOfflineCodes, RetryPolicy.defaultRetryLimit,
    ]
}
