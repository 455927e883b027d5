// Challenges in Foundation's form, for monitors and delegates.

import FireweedTransport
import Foundation
import FoundationNetworking

extension HTTPChallenge {
    /// Foundation's constant for the scheme.
    var method: String {
        switch known {
        case .basic: NSURLAuthenticationMethodHTTPBasic
        case .digest: NSURLAuthenticationMethodHTTPDigest
        case .ntlm: NSURLAuthenticationMethodNTLM
        case .negotiate: NSURLAuthenticationMethodNegotiate
        default: NSURLAuthenticationMethodDefault
        }
    }

    /// Returns the challenge for monitors and delegates; calls to its sender have no effect.
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

/// Carries a challenge to the queue of a monitor or a delegate.
struct SendableChallenge: @unchecked Sendable {
    // SAFETY: a challenge is not changed once it is made. We call its sender only on the `ProtocolThread`.
    let value: URLAuthenticationChallenge

    init(_ value: URLAuthenticationChallenge) {
        self.value = value
    }
}

/// Ignores all answers.
final class InertChallengeSender: NSObject, URLAuthenticationChallengeSender {
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
    func cancel(_ challenge: URLAuthenticationChallenge) {}
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
}
