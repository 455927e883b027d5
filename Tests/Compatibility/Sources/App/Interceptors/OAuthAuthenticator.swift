import Alamofire
import Foundation

public struct OAuthCredential: AuthenticationCredential, Sendable {
    public let accessToken: String
    public let refreshToken: String
    public let userID: String
    public let expiration: Date

    public init(accessToken: String, refreshToken: String, userID: String, expiration: Date) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.userID = userID
        self.expiration = expiration
    }

    public var requiresRefresh: Bool { Date(timeIntervalSinceNow: 60 * 5) > expiration }
}

public final class OAuthAuthenticator: Authenticator {
    private let tokenURL: URL

    public init(tokenURL: URL) {
        self.tokenURL = tokenURL
    }

    public func apply(_ credential: OAuthCredential, to urlRequest: inout URLRequest) {
        urlRequest.headers.add(.authorization(bearerToken: credential.accessToken))
    }

    public func refresh(
        _ credential: OAuthCredential, for session: Session,
        completion: @escaping @Sendable (Result<OAuthCredential, any Error>) -> Void
    ) {
        session.request(tokenURL, method: .post, parameters: ["refresh_token": credential.refreshToken])
            .validate()
            .responseString(queue: .global()) { response in
                completion(
                    response.result
                        .map {
                            OAuthCredential(
                                accessToken: $0, refreshToken: credential.refreshToken, userID: credential.userID,
                                expiration: Date(timeIntervalSinceNow: 3600))
                        }
                        .mapError { $0 as any Error })
            }
    }

    public func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool {
        response.statusCode == 401
    }

    public func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: OAuthCredential) -> Bool {
        let bearerToken = HTTPHeader.authorization(bearerToken: credential.accessToken).value
        return urlRequest.headers["Authorization"] == bearerToken
    }
}

extension AuthenticationInterceptor where AuthenticatorType == OAuthAuthenticator {
    static func make(_ credential: OAuthCredential?, tokenURL: URL) -> AuthenticationInterceptor {
        let interceptor = AuthenticationInterceptor(
            authenticator: OAuthAuthenticator(tokenURL: tokenURL), credential: credential,
            refreshWindow: .init(interval: 60, maximumAttempts: 3))
        if credential == nil { interceptor.credential = nil }
        return interceptor
    }
}
