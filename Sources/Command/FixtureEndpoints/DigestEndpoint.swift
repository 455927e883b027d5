// The endpoint with Digest authentication.

import FireweedTransport
import Foundation
import Synchronization

/// The endpoint `/digest-auth/QOP/USER/PASSWORD[/ALGORITHM]` (RFC 7616).
///
/// QOP is ignored, and the algorithm is MD5 unless `SHA-256`.
package struct DigestEndpoint {
    package let user: String
    package let password: String
    package let usesSHA256: Bool
    package static let realm = "fixture"

    /// Known only to this process: nonces that it did not make are stale.
    private static let secret = DigestAnswer.makeClientNonce()
    /// How long a nonce is accepted, in seconds.
    private static let lifetime = 300
    /// The highest count of each nonce that was accepted lately: an answer that is sent again is refused.
    private static let counts = Mutex<[String: UInt32]>([:])

    /// `nil` when the request is for another endpoint.
    package init?(_ request: ReceivedRequest) {
        let parts = request.path.split(separator: "/").map(String.init)
        guard parts.count >= 4, parts[0] == "digest-auth" else { return nil }
        user = parts[2]
        password = parts[3]
        usesSHA256 = parts.count > 4 && parts[4] == "SHA-256"
    }

    func response(to request: ReceivedRequest) -> FixtureResponse {
        guard let answer = request.field("Authorization").flatMap({ HTTPChallenge.all(in: $0).first }) else {
            return challenge(isStale: false)
        }
        guard isRight(answer, for: request) else { return challenge(isStale: false) }
        guard let nonce = answer.parameters["nonce"], Self.isFresh(nonce), Self.use(nonce, Self.count(of: answer))
        else {
            return challenge(isStale: true)
        }
        return .json(["authenticated": true, "user": user])
    }

    private func challenge(isStale: Bool, nonce: String = Self.makeNonce()) -> FixtureResponse {
        let value =
            "Digest realm=\"\(Self.realm)\", qop=\"auth\", nonce=\"\(nonce)\", opaque=\"opaque\", "
            + "algorithm=\(usesSHA256 ? "SHA-256" : "MD5")\(isStale ? ", stale=true" : "")"
        return FixtureResponse(status: 401, fields: [("WWW-Authenticate", value)])
    }

    /// Whether an answer is what a client makes that knows the user and the password.
    private func isRight(_ answer: HTTPChallenge, for request: ReceivedRequest) -> Bool {
        let given = answer.parameters
        guard let nonce = given["nonce"], let clientNonce = given["cnonce"], given["uri"] == request.target,
            let challenge = challenge(isStale: false, nonce: nonce).fields.first.flatMap({
                HTTPChallenge.all(in: $0.value).first
            }), var expected = DigestAnswer(challenge)
        else { return false }
        expected.useCount = Self.count(of: answer)
        let field = expected.field(
            RequestMessage.Credentials(user: user, password: password), method: request.method,
            target: request.target, clientNonce: clientNonce)
        let wanted = HTTPChallenge.all(in: field).first?.parameters ?? [:]
        return ["username", "realm", "response"].allSatisfy { wanted[$0] != nil && wanted[$0] == given[$0] }
    }

    private static func count(of answer: HTTPChallenge) -> UInt32 {
        answer.parameters["nc"].flatMap { UInt32($0, radix: 16) } ?? 0
    }

    // MARK: Nonces

    private static var now: Int { Int(Date().timeIntervalSince1970) }

    private static func makeNonce() -> String {
        signed("\(String(now, radix: 36))-\(DigestAnswer.makeClientNonce())")
    }

    /// The time and a random part, with a proof that this process made them.
    private static func signed(_ text: some StringProtocol) -> String {
        "\(text)-\(Hash.sha256.hexadecimalDigest(of: "\(text):\(secret)"))"
    }

    private static func isFresh(_ nonce: String) -> Bool {
        guard let time = Int(nonce.prefix { $0 != "-" }, radix: 36), let end = nonce.lastIndex(of: "-") else {
            return false
        }
        return signed(nonce[..<end]) == nonce && (now - lifetime...now).contains(time)
    }

    private static func use(_ nonce: String, _ count: UInt32) -> Bool {
        counts.withLock { counts in
            guard count > counts[nonce] ?? 0 else { return false }
            if counts.count > 10_000 { counts = [:] }
            counts[nonce] = count
            return true
        }
    }
}
