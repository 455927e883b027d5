// Tokens that expire.

import Fireweed
import Foundation
import Synchronization

/// A token with a number; the server always refuses token 0, and refuses every other token after some uses.
struct ChaosToken: AuthenticationCredential {
    let number: Int
    var requiresRefresh: Bool { false }
}

/// Puts tokens into requests, and renews them as planned.
final class PlannedAuthenticator: Authenticator {
    private let plan: SessionPlan.Refreshing
    private let refreshCount = Atomic(0)

    init(plan: SessionPlan.Refreshing) {
        self.plan = plan
    }

    func apply(_ credential: ChaosToken, to urlRequest: inout URLRequest) {
        urlRequest.headers.update(name: "Authorization", value: Self.field(of: credential))
    }

    func refresh(
        _ credential: ChaosToken, for session: Session,
        completion: @escaping @Sendable (Result<ChaosToken, any Error>) -> Void
    ) {
        let next = ChaosToken(number: credential.number + 1)
        let number = refreshCount.add(1, ordering: .relaxed).newValue
        let fails = plan.fails && number.isMultiple(of: 3)
        plan.answering.answer { completion(fails ? .failure(PlannedFailure.refresh) : .success(next)) }
    }

    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool {
        response.statusCode == 401
    }

    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: ChaosToken) -> Bool {
        urlRequest.headers["Authorization"] == Self.field(of: credential)
    }

    private static func field(of credential: ChaosToken) -> String { "Token \(credential.number)" }
}
