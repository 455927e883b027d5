import Fireweed
import FireweedTesting
import FixtureServer
import Foundation
import Testing

@Suite("Revocation", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RevocationTests {
    let world: RevocationWorld

    init() throws {
        world = try RevocationWorld.shared
    }

    /// `ok`, `revoked`, or `unknown` and why.
    private func verdict(_ evaluator: any ServerTrustEvaluating, _ trust: ServerTrust) -> String {
        do {
            try evaluator.evaluate(trust, forHost: trust.host)
            return "ok"
        } catch AFError.serverTrustEvaluationFailed(.trustEvaluationFailed(let failure as TrustFailure)) {
            switch failure {
            case .revoked(let certificate): return certificate == trust.certificates.first ? "revoked" : "revoked above"
            case .unknownRevocation(_, let reason): return "unknown: \(reason)"
            default: return "\(failure)"
            }
        } catch {
            return "\(error)"
        }
    }

    @Test("a responder's word counts, in soft and in hard failing")
    func responder() throws {
        #expect(try verdict(.revocationChecking, world.trust(world.good)) == "ok")
        #expect(try verdict(.revocationChecking(timeout: TestTimeouts.limit), world.trust(world.revoked)) == "revoked")
        #expect(try verdict(world.strict(), world.trust(world.good)) == "ok")
        #expect(try verdict(world.strict(.ocsp), world.trust(world.revoked)) == "revoked")
    }

    @Test("a list's word counts, fetched from its distribution point or given")
    func lists() throws {
        #expect(
            try verdict(.revocationChecking(timeout: TestTimeouts.limit), world.trust(world.listedRevoked)) == "revoked"
        )
        #expect(try verdict(world.strict(), world.trust(world.listedGood)) == "ok")
        let given = [try RevocationList(contentsOf: world.list)]
        let offline: RevocationTrustEvaluator.Options = [.any, .networkAccessDisabled]
        #expect(try verdict(world.strict(offline, lists: given), world.trust(world.silentGood)) == "ok")
        #expect(try verdict(world.strict(offline, lists: given), world.trust(world.silentRevoked)) == "revoked")
        // Asked with OCSP alone, lists say nothing.
        #expect(
            try verdict(.revocationChecking(options: .ocsp, revocationLists: given), world.trust(world.silentRevoked))
                == "ok")
    }

    @Test("silence is no fault, unless an answer is required")
    func silence() throws {
        #expect(try verdict(.revocationChecking, world.trust(world.silentRevoked)) == "ok")
        #expect(try verdict(world.strict(), world.trust(world.silentGood)).hasPrefix("unknown: there is no list"))
        let offline: RevocationTrustEvaluator.Options = [.any, .networkAccessDisabled]
        #expect(try verdict(.revocationChecking(options: offline), world.trust(world.revoked)) == "ok")
        #expect(try verdict(world.strict(offline), world.trust(world.good)).hasPrefix("unknown"))
    }

    @Test("a status that the server stapled counts, if its issuer signed it, or one whom it delegated that to")
    func stapled() throws {
        let generator = world.generator
        func response(
            _ leaf: CertificateGenerator.Issued, issuer: CertificateGenerator.Issued,
            signer: CertificateGenerator.Issued? = nil
        ) throws -> URL {
            try generator.stapledStatus(of: leaf, register: world.register, issuer: issuer, signer: signer)
        }
        func stapledVerdict(_ leaf: CertificateGenerator.Issued, _ status: URL) throws -> String {
            try verdict(world.strict([.any, .networkAccessDisabled]), world.trust(leaf, stapled: status))
        }
        let (good, revoked) = (world.silentGood, world.silentRevoked)
        #expect(try stapledVerdict(good, response(good, issuer: world.middle)) == "ok")
        #expect(try stapledVerdict(revoked, response(revoked, issuer: world.middle)) == "revoked")
        let delegate = try generator.issue("Delegate", ["extendedKeyUsage=OCSPSigning"], by: world.middle)
        #expect(try stapledVerdict(good, response(good, issuer: world.middle, signer: delegate)) == "ok")
        // Any other certificate of the issuer's must not speak for it, nor may a stranger.
        let stranger = try generator.issue("Middle", CertificateGenerator.authority)
        for signer in [good, stranger] {
            let forged = try response(good, issuer: world.middle, signer: signer)
            #expect(try stapledVerdict(good, forged).contains("is not the issuer's"))
        }
        let other = try response(revoked, issuer: world.middle)
        #expect(try stapledVerdict(good, other).contains("about other certificates"))
        let broken = generator.folder.file("broken.resp")
        try Data("nonsense".utf8).write(to: broken)
        #expect(try stapledVerdict(good, broken).contains("malformed"))
    }

    @Test("lists that are outdated, forged or another's say nothing")
    func badLists() throws {
        let generator = world.generator
        let trust = try world.trust(world.silentRevoked)
        let serial = try #require(trust.certificates.first).serialNumber
        let old = try generator.revocationList(revoked: [serial], by: world.middle, days: 0)
        let stranger = try generator.issue("Middle", CertificateGenerator.authority)
        let forged = try generator.revocationList(revoked: [serial], by: stranger)
        let others = try generator.revocationList(revoked: [serial], by: world.root)
        for file in [old, forged, others] {
            let list = try RevocationList(contentsOf: file)
            #expect(verdict(world.strict(lists: [list]), trust).hasPrefix("unknown"), "\(list)")
            #expect(verdict(.revocationChecking(revocationLists: [list]), trust) == "ok")
        }
        #expect(throws: RevocationList.Malformed.self) { try RevocationList(der: Data("no list".utf8)) }
    }

    @Test("an authority that was taken back takes all below it with it")
    func authority() throws {
        let serial = try Certificate(pem: world.middle.pem).serialNumber
        let list = try RevocationList(contentsOf: world.generator.revocationList(revoked: [serial], by: world.root))
        #expect(try verdict(.revocationChecking(revocationLists: [list]), world.trust(world.good)) == "revoked above")
    }

    @Test("a responder that is not there is noticed; one that hangs is given up after the time-out")
    func unreachable() async throws {
        let hanging = try ScriptedServer.start([.receiveHead, .hold])
        let closed = UInt16(try #require(MockServer.refusingURL().port))
        let outcomes: [(UInt16, Duration, String)] = [
            (hanging.port, .milliseconds(300), "no answer in time"),
            (closed, TestTimeouts.limit, "127.0.0.1:\(closed)"),
        ]
        for (port, timeout, word) in outcomes {
            let leaf = try world.generator.issue(
                "Leaf",
                ["subjectAltName=DNS:localhost", "authorityInfoAccess=OCSP;URI:http://127.0.0.1:\(port)"],
                by: world.middle)
            let trust = try world.trust(leaf)
            let strict = verdict(world.strict(timeout: timeout), trust)
            #expect(strict.hasPrefix("unknown") && strict.contains(word), "\(strict)")
            #expect(verdict(.revocationChecking(timeout: timeout), trust) == "ok")
        }
    }

    @Test("an answer is kept; a list is fetched once")
    func kept() throws {
        let list = try RevocationList(contentsOf: world.list).derRepresentation
        let server = try ScriptedServer.start(RevocationWorld.serving(list))
        let leaf = try world.generator.issue(
            "Leaf",
            ["subjectAltName=DNS:localhost", "crlDistributionPoints=URI:\(server.url("/list").absoluteString)"],
            by: world.middle)
        let evaluator = world.strict()
        for _ in 0..<3 { #expect(try verdict(evaluator, world.trust(leaf)) == "ok") }
        #expect(server.events.events.count { if case .accepted = $0 { true } else { false } } == 1)
    }

    @Test("without the default validation an untrusted certificate is refused too, and no responder is asked")
    func stranger() async throws {
        let server = try ScriptedServer.start([.receiveHead, .hold])
        let leaf = try world.generator.issue(
            "Leaf",
            [
                "subjectAltName=DNS:localhost",
                "authorityInfoAccess=OCSP;URI:\(server.url().absoluteString)",
                "crlDistributionPoints=URI:\(server.url("/list").absoluteString)",
            ])
        for options in [.any, [.any, .requirePositiveResponse]] as [RevocationTrustEvaluator.Options] {
            let evaluator = RevocationTrustEvaluator(performDefaultValidation: false, options: options)
            let expected = try #require(throws: TrustFailure.self) { try world.trust(leaf).evaluateChain() }
            #expect(try verdict(evaluator, world.trust(leaf)) == "\(expected)")
        }
        #expect(server.events.events.isEmpty)
    }

    @Test("certificates that pinning accepts as authorities are authorities of a later evaluator too")
    func pinnedAuthorities() throws {
        let leaf = try world.generator.issue("Leaf", ["subjectAltName=DNS:localhost"])
        let trust = try world.trust(leaf)
        let pinned = PinnedCertificatesTrustEvaluator(
            certificates: trust.presentedCertificates, acceptSelfSignedCertificates: true)
        let revocation = RevocationTrustEvaluator(
            performDefaultValidation: false, options: [.any, .networkAccessDisabled])
        #expect(verdict(CompositeTrustEvaluator(evaluators: [pinned, revocation]), trust) == "ok")
    }

    @Test(
        "in a handshake, a stapled status decides without the network, in every version of TLS",
        arguments: ["-tls1_2", "-tls1_3"], ["good", "revoked", "none"])
    func handshake(version: String, status: String) async throws {
        let leaf = status == "revoked" ? world.silentRevoked : world.silentGood
        let response = try world.generator.stapledStatus(of: leaf, register: world.register, issuer: world.middle)
        let stapling = status == "none" ? [] : ["-status_file", response.path]
        let server = try OpenSSLServer([leaf, world.middle], [version] + stapling)
        var options = TransportOptions()
        options.certificateAuthorities = .file(world.root.certificate)
        let evaluator = world.strict([.any, .networkAccessDisabled])
        let session = Session.isolated(
            serverTrustManager: ServerTrustManager(evaluators: ["localhost": evaluator]), transportOptions: options)
        let error = await session.request(server.url()).serializingData().response.error
        switch (status, error?.trustFailure) {
        case ("good", nil): #expect(error == nil, "\(String(describing: error))")
        case ("revoked", .revoked(let certificate)): #expect(certificate == (try Certificate(pem: leaf.pem)))
        case ("none", .unknownRevocation): break
        default: Issue.record("\(status): \(String(describing: error))")
        }
    }

    @Test("ten new connections to a server that resumes TLS sessions all succeed")
    func resumedConnections() async throws {
        let closing = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
        let peer = try SecurePeer([world.good, world.middle], role: .answering(closing))
        var options = TransportOptions()
        options.certificateAuthorities = .file(world.root.certificate)
        let session = Session.isolated(
            serverTrustManager: ServerTrustManager(evaluators: ["localhost": world.strict()]),
            transportOptions: options)
        for _ in 0..<10 {
            let response = await session.request(peer.url()).serializingData().response
            #expect(response.response?.statusCode == 200, "\(response)")
        }
        try await peer.waits(for: 10, of: "closed")
        #expect(peer.events.events.count { $0.contains("resumed") } == 9, "\(peer.events.events)")
    }
}
