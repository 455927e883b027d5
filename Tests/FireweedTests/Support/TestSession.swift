// Sessions for tests: cookies of their own, nothing shared.

import Fireweed
import FixtureServer
import Foundation
import Testing

/// What `/anything` answers.
struct Anything: Decodable, Sendable {
    let method: String
    let url: String
    let args: [String: String]
    let form: [String: String]
    let headers: [String: String]
    let data: String
}

extension Session {
    /// A session that shares no cookies with anyone, and is as patient as the tests are.
    static func isolated(
        interceptor: (any RequestInterceptor)? = nil, startRequestsImmediately: Bool = true,
        redirectHandler: (any RedirectHandler)? = nil, eventMonitors: [any EventMonitor] = [],
        serverTrustManager: ServerTrustManager? = nil, transportOptions: TransportOptions = TransportOptions(),
        configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> Session {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.timeoutIntervalForRequest = TimeInterval(TestTimeouts.seconds)
        configure(configuration)
        return Session(
            configuration: configuration, startRequestsImmediately: startRequestsImmediately, interceptor: interceptor,
            serverTrustManager: serverTrustManager, redirectHandler: redirectHandler, eventMonitors: eventMonitors,
            transportOptions: transportOptions)
    }
}

extension AFError {
    /// The code of the `URLError` below, if there is one.
    var urlErrorCode: URLError.Code? { (underlyingError as? URLError)?.code }

    /// The fault that a check of the server's certificates found; `nil` for every other error.
    var trustFailure: TrustFailure? {
        guard case .serverTrustEvaluationFailed(.trustEvaluationFailed(let error)) = self else { return nil }
        return error as? TrustFailure
    }
}
