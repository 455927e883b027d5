import Alamofire
import Foundation

/// A token that is fetched again after a 401, once for all requests that wait for it.
public final class TokenInterceptor: RequestInterceptor, @unchecked Sendable {
    private typealias Completion = @Sendable (RetryResult) -> Void

    private let lock = NSLock()
    private let tokenURL: URL
    private var token: String
    private var waiting: [Completion] = []
    private var isRefreshing = false

    public init(token: String, tokenURL: URL) {
        self.token = token
        self.tokenURL = tokenURL
    }

    public func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        var urlRequest = urlRequest
        urlRequest.headers.update(.authorization(bearerToken: lock.withLock { token }))
        completion(.success(urlRequest))
    }

    public func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        guard let response = request.task?.response as? HTTPURLResponse, response.statusCode == 401,
            request.retryCount < 2
        else {
            completion(.doNotRetryWithError(error))
            return
        }
        let isFirst = lock.withLock {
            waiting.append(completion)
            defer { isRefreshing = true }
            return !isRefreshing
        }
        guard isFirst else { return }
        AF.request(tokenURL, method: .post).validate().responseString(queue: .global()) { [self] response in
            let waiting = lock.withLock {
                if case .success(let token) = response.result { self.token = token }
                isRefreshing = false
                defer { self.waiting = [] }
                return self.waiting
            }
            waiting.forEach { $0(response.error.map { .doNotRetryWithError($0) } ?? .retry) }
        }
    }
}
