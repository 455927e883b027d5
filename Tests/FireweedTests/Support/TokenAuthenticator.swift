// Tokens that expire, for tests.

import Fireweed
import Foundation
import Synchronization

/// A numbered token.
struct Token: AuthenticationCredential, Sendable, Equatable {
    let number: Int
    var requiresRefresh = false
}

struct RefreshRefused: Error, Equatable {}

/// Puts tokens into requests, and renews them as told.
final class TokenAuthenticator: Authenticator {
    typealias Completion = @Sendable (Result<Token, any Error>) -> Void

    let refreshed = ProtectedList<Int>()
    private let renew: @Sendable (Token, @escaping Completion) -> Void

    /// Gives the token with the next number.
    convenience init() {
        self.init { token, completion in completion(.success(Token(number: token.number + 1))) }
    }

    init(renew: @escaping @Sendable (Token, @escaping Completion) -> Void) {
        self.renew = renew
    }

    func apply(_ credential: Token, to urlRequest: inout URLRequest) {
        urlRequest.headers.update(.authorization("token \(credential.number)"))
    }

    func refresh(_ credential: Token, for session: Session, completion: @escaping Completion) {
        refreshed.append(credential.number)
        renew(credential, completion)
    }

    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool {
        response.statusCode == 401
    }

    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool {
        urlRequest.headers["Authorization"] == "token \(credential.number)"
    }
}

/// Keeps completions until the test lets them go.
final class HeldRefreshes: Sendable {
    private let held = Mutex<[TokenAuthenticator.Completion]>([])
    private let (arrivals, arrival) = AsyncStream<Void>.makeStream()

    func hold(_ completion: @escaping TokenAuthenticator.Completion) {
        held.withLock { $0.append(completion) }
        arrival.yield()
    }

    /// Waits until a refresh was begun.
    func began() async {
        for await _ in arrivals { return }
    }

    func release(_ result: Result<Token, any Error>) {
        let completions = held.withLock { held in
            defer { held = [] }
            return held
        }
        for completion in completions { completion(result) }
    }
}
