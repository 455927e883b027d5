import Alamofire
import Foundation

public enum Environment {
    public static func session(_ monitors: [any EventMonitor] = []) -> Session {
        let configuration = URLSessionConfiguration.af.default
        configuration.timeoutIntervalForRequest = 30
        configuration.timeoutIntervalForResource = 300
        configuration.httpMaximumConnectionsPerHost = 4
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.allowsCellularAccess = true
        configuration.headers = HTTPHeaders(
            [.userAgent("App/\(AFInfo.version)")] + HTTPHeaders.default.filter { $0.name != "User-Agent" })
        return Session(
            configuration: configuration, rootQueue: DispatchQueue(label: "com.example.api"), interceptor: .retryPolicy,
            redirectHandler: .follow, cachedResponseHandler: .cache, eventMonitors: monitors)
    }

    static func qualified() -> (Alamofire.Session, Alamofire.HTTPMethod, Alamofire.AFError, Alamofire.Request.State) {
        (Alamofire.AF, Alamofire.HTTPMethod.get, Alamofire.AFError.explicitlyCancelled, .initialized)
    }

    static func convertibles() throws -> [URL] {
        let values: [any URLConvertible] = [
            "https://example.com", URL(string: "https://example.com")!, URLComponents(string: "https://example.com")!,
        ]
        return try values.map { try $0.asURL() }
    }

    static func text(_ setup: Session.RequestSetup, _ state: Request.State, _ result: RetryResult) -> String {
        let first: String =
            switch setup {
            case .eager: "eager"
            case .lazy: "lazy"
            }
        let second: String =
            switch state {
            case .initialized, .resumed, .suspended, .cancelled, .finished: "\(state)"
            }
        switch result {
        case .retry, .doNotRetry: return first + second
        case .retryWithDelay(let delay): return first + second + "\(delay)"
        case .doNotRetryWithError(let error): return first + second + "\(error)"
        }
    }
}
