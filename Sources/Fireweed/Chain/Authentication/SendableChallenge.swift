// Challenges in Foundation's form, for monitors.

import FireweedTransport
import Foundation
import FoundationNetworking

extension HTTPChallenge {
    /// The scheme as Foundation names it.
    var method: String {
        switch known {
        case .basic: NSURLAuthenticationMethodHTTPBasic
        case .digest: NSURLAuthenticationMethodHTTPDigest
        case .ntlm: NSURLAuthenticationMethodNTLM
        case .negotiate: NSURLAuthenticationMethodNegotiate
        default: NSURLAuthenticationMethodDefault
        }
    }

    /// The challenge as monitors see it; they watch, and answering it has no effect.
    func shown(host: String, port: Int, scheme: String, response: HTTPURLResponse?, failureCount: Int)
        -> URLAuthenticationChallenge
    {
        let space = URLProtectionSpace(
            host: host, port: port, protocol: scheme, realm: realm, authenticationMethod: method)
        return URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: nil, previousFailureCount: failureCount,
            failureResponse: response, error: nil, sender: InertChallengeSender())
    }
}

/// Carries a challenge to a monitor's queue.
struct SendableChallenge: @unchecked Sendable {
    // SAFETY: a challenge is not changed once it is made; its sender ignores everything.
    let value: URLAuthenticationChallenge

    init(_ value: URLAuthenticationChallenge) {
        self.value = value
    }
}

/// Takes answers and does nothing with them.
final class InertChallengeSender: NSObject, URLAuthenticationChallengeSender {
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
    func cancel(_ challenge: URLAuthenticationChallenge) {}
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
}
