import Alamofire
import Foundation

/// An interceptor whose closures are not `@Sendable`.
class OldInterceptor: RequestInterceptor {
    var retryLimit = 3
    var token = "t"
    private var isRefreshing = false
    private var requestsToRetry: [(RetryResult) -> Void] = []

    func adapt(
        _ urlRequest: URLRequest, for session: Session, completion: @escaping (Result<URLRequest, Error>) -> Void
    ) {
        var request = urlRequest
        request.addValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        completion(.success(request))
    }

    func retry(
        _ request: Request, for session: Session, dueTo error: Error, completion: @escaping (RetryResult) -> Void
    ) {
        guard let statusCode = request.response?.statusCode, statusCode == 401 else { return completion(.doNotRetry) }
        requestsToRetry.append(completion)
        guard !isRefreshing else { return }
        isRefreshing = true
        refresh { [weak self] token in
            guard let self = self else { return }
            self.token = token ?? self.token
            self.requestsToRetry.forEach { $0(token == nil ? .doNotRetry : .retry) }
            self.requestsToRetry.removeAll()
            self.isRefreshing = false
        }
    }

    private func refresh(_ completion: @escaping (String?) -> Void) {
        AF.request("https://example.com/token", method: .post).responseString { completion($0.value) }
    }
}

class OldAuthenticator: Authenticator {
    struct Credential: AuthenticationCredential {
        var token: String
        let requiresRefresh = false
    }

    func apply(_ credential: Credential, to urlRequest: inout URLRequest) {
        urlRequest.headers.add(.authorization(bearerToken: credential.token))
    }

    func refresh(
        _ credential: Credential, for session: Session, completion: @escaping (Result<Credential, Error>) -> Void
    ) {
        completion(.success(Credential(token: "new")))
    }

    func didRequest(_ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: Error)
        -> Bool
    {
        return response.statusCode == 401
    }

    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Credential) -> Bool {
        return urlRequest.headers["Authorization"] == "Bearer \(credential.token)"
    }
}
