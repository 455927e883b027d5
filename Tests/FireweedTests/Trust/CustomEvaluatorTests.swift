import Fireweed
import FixtureServer
import Foundation
import Testing

/// An evaluator as apps write them: some code around the members behind `af`, and nothing said of waiting.
private struct CustomEvaluator: ServerTrustEvaluating {
    let body: @Sendable (ServerTrust, String) throws -> Void

    init(_ body: @escaping @Sendable (ServerTrust, String) throws -> Void) {
        self.body = body
    }

    func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        try body(trust, host)
    }
}

@Suite("Custom evaluators", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CustomEvaluatorTests {
    let world: RevocationWorld
    private let root: Certificate

    init() throws {
        world = try RevocationWorld.shared
        root = try Certificate(pem: world.root.pem)
    }

    /// The error of a request to a server with this certificate, which no system authority vouches for.
    private func error(
        _ leaf: CertificateGenerator.Issued, host: String = "localhost", _ evaluator: any ServerTrustEvaluating
    ) async throws -> AFError? {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
        let peer = try SecurePeer([leaf, world.middle], role: .answering(answer))
        let session = Session.isolated(serverTrustManager: ServerTrustManager(evaluators: [host: evaluator]))
        let response = await session.request("https://\(host):\(peer.port)/").serializingData().response
        #expect(response.error != nil || response.value == Data("ok".utf8))
        return response.error
    }

    private func reason(_ error: AFError?) -> AFError.ServerTrustFailureReason? {
        if case .serverTrustEvaluationFailed(let reason)? = error { reason } else { nil }
    }

    @Test("anchors that an evaluator sets are the authorities of the checks after it, and of no other handshake")
    func anchors() async throws {
        let anchored = CustomEvaluator { [root] trust, host in
            try trust.af.setAnchorCertificates([root])
            try trust.af.performDefaultValidation(forHost: host)
            try trust.af.performValidation(forHost: host)
            try DefaultTrustEvaluator().evaluate(trust, forHost: host)
        }
        #expect(try await error(world.good, anchored) == nil)
        let plain = CustomEvaluator { try $0.af.performDefaultValidation(forHost: $1) }
        guard case .trustEvaluationFailed(let cause)? = reason(try await error(world.good, plain)) else {
            Issue.record("the chain ends in an unknown authority")
            return
        }
        #expect((cause as? TrustFailure)?.urlErrorCode == .serverCertificateHasUnknownRoot)
        let nobody = CustomEvaluator { trust, _ in
            try trust.af.setAnchorCertificates([])
            try trust.af.evaluate()
        }
        guard case .trustEvaluationFailed(let fault)? = reason(try await error(world.good, nobody)) else {
            Issue.record("nobody is an authority")
            return
        }
        #expect(fault is TrustFailure)
    }

    @Test("a check of the host is a check of the chain too")
    func host() async throws {
        let unanchored = CustomEvaluator { try $0.af.performValidation(forHost: $1) }
        guard case .trustEvaluationFailed(let cause)? = reason(try await error(world.good, unanchored)) else {
            Issue.record("the chain was not checked")
            return
        }
        #expect((cause as? TrustFailure)?.urlErrorCode == .serverCertificateHasUnknownRoot)
        let anchored = CustomEvaluator { [root] trust, host in
            try trust.af.setAnchorCertificates([root])
            try trust.af.performDefaultValidation(forHost: host)
            try trust.af.performValidation(forHost: host)
        }
        let mismatch = try await error(world.good, host: "other.localhost", anchored)
        guard case .hostMismatch? = mismatch?.trustFailure else {
            Issue.record("the certificate is for another host: \(String(describing: mismatch))")
            return
        }
    }

    @Test("a policy replaces the one before, and the evaluation checks what it says")
    func policies() throws {
        let trust = try world.trust(world.good)
        try trust.af.evaluate()
        try trust.af.evaluate(afterApplying: .af.hostname("localhost"))
        #expect(throws: AFError.self) { try trust.af.evaluate(afterApplying: .af.hostname("example.com")) }
        #expect(throws: AFError.self) { try trust.af.evaluate() }
        try trust.af.apply(policy: .af.default).af.evaluate()
        struct Mine: Error, Equatable {
            let status: Int32
            let result: TrustResult
        }
        #expect(throws: Mine(status: 0, result: .recoverableTrustFailure)) {
            try trust.af.validate(policy: .af.hostname("example.com")) { Mine(status: $0, result: $1) }
        }
        #expect(throws: Mine(status: 0, result: .recoverableTrustFailure)) {
            try trust.af.validate { Mine(status: $0, result: $1) }
        }
        try trust.af.validate(policy: .af.default) { Mine(status: $0, result: $1) }
        #expect(!Int32(-67843).af.isSuccess && Int32(0).af.isSuccess)
        #expect(TrustResult.unspecified.af.isSuccess && !TrustResult.recoverableTrustFailure.af.isSuccess)
    }

    @Test(
        "a revocation policy waits for the network without being told that it may, and its answer counts",
        arguments: [true, false])
    func revocation(usesPolicy: Bool) async throws {
        let options: RevocationTrustEvaluator.Options = .any
        let evaluator = CustomEvaluator { [root] trust, host in
            try trust.af.setAnchorCertificates([root])
            if usesPolicy {
                try trust.af.evaluate(afterApplying: .af.revocation(options: options))
            } else {
                try RevocationTrustEvaluator(options: options).evaluate(trust, forHost: host)
            }
        }
        #expect(try await error(world.good, evaluator) == nil)
        let revoked = try await error(world.revoked, evaluator)
        guard case TrustFailure.revoked(let certificate)? = revoked?.underlyingError else {
            Issue.record("\(String(describing: revoked))")
            return
        }
        #expect(certificate == (try Certificate(pem: world.revoked.pem)))
    }

    @Test("an evaluator that catches the request to wait is asked again all the same")
    func swallowed() async throws {
        let calls = ProtectedList<Bool>()
        let evaluator = CustomEvaluator { [root] trust, _ in
            try trust.af.setAnchorCertificates([root])
            let policy = try TrustPolicy.af.revocation(options: [.any])
            let isRevoked = (try? trust.af.evaluate(afterApplying: policy)) == nil
            calls.append(isRevoked)
        }
        #expect(try await error(world.good, evaluator) == nil)
        #expect(calls.all == [true, false], "the first call, which must not wait, does not count")
    }

    @Test("pins are found in the chain that the trust gives")
    func pins() async throws {
        let key = try Certificate(pem: world.middle.pem).publicKey
        let data = try Certificate(pem: world.good.pem).derRepresentation
        let evaluator = CustomEvaluator { [root] trust, host in
            try trust.af.setAnchorCertificates([root])
            try trust.af.performDefaultValidation(forHost: host)
            struct NotPinned: Error {}
            guard trust.af.publicKeys.contains(key), trust.af.certificateData.first == data,
                trust.af.certificates.last == root, trust.af.certificates.af.data == trust.af.certificateData,
                trust.af.certificates.map(\.af.publicKey) == trust.af.publicKeys
            else { throw NotPinned() }
        }
        #expect(try await error(world.good, evaluator) == nil)
    }

    @Test("several evaluators in an array all have to accept, and a composite passes their anchors on")
    func several() async throws {
        let anchoring = CustomEvaluator { [root] trust, _ in try trust.af.setAnchorCertificates([root]) }
        let both: [any ServerTrustEvaluating] = [anchoring, DefaultTrustEvaluator()]
        #expect(try await error(world.good, CompositeTrustEvaluator(evaluators: both)) == nil)
        #expect(try await error(world.good, CustomEvaluator { try both.evaluate($0, forHost: $1) }) == nil)
        #expect(try await error(world.good, .composite(evaluators: both.reversed())) != nil)
    }
}
