import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Trust of a chain")
struct ServerTrustTests {
    @Test(
        "the authorities judge each chain",
        arguments: [
            ("valid", "trusted"),
            ("valid, whole", "trusted"),
            ("valid, disordered", "trusted"),
            ("expired", "expired: CN = Old"),
            ("not yet valid", "notYetValid: CN = Young"),
            ("wrong host", "hostMismatch"),
            ("self-signed", "selfSigned: CN = Self"),
            ("untrusted root", "untrustedRoot: CN = Stranger"),
            ("unknown issuer", "unknownIssuer: CN = Server"),
            ("missing intermediate", "unknownIssuer: CN = Server"),
            ("weak key", "weakKey: CN = Weak"),
            ("weak authority", "weakKey: CN = Short"),
            ("SHA-1", "weakSignature: CN = Hash"),
            ("name constraints", "forbiddenName: CN = Outside"),
            ("client purpose", "unsuitablePurpose: CN = Client"),
            ("IP address", "trusted"),
            ("address as a name", "hostMismatch"),
            ("wildcard", "trusted"),
            ("common name only", "hostMismatch"),
            ("self-signed with another's chain", "selfSigned: CN = Self"),
            ("issued by a mere server", "invalidAuthority: CN = Customer"),
        ])
    func verdicts(serverChain: String, expected: String) throws {
        #expect(Self.verdict(of: try TestCertificates.trust(serverChain)) == expected)
    }

    @Test(
        "the moment of the verification can be another",
        arguments: [
            (1_500_000_000, "notYetValid: CN = Past"),  // in 2017
            (1_590_000_000, "trusted"),  // in May 2020
            (4_000_000_000, "expired: CN = Past"),  // in 2096
        ])
    func dates(time: Int, expected: String) throws {
        let past = try TestCertificates.shared.generator.issue("Past", ["subjectAltName=DNS:localhost"], dates: .past)
        let certificate = try Certificate(pem: past.pem)
        let trust = ServerTrust(
            certificates: [certificate], host: "localhost", authorities: .certificates([certificate]),
            rules: TrustRules(date: Date(timeIntervalSince1970: TimeInterval(time))))
        #expect(Self.verdict(of: trust) == expected)
    }

    @Test("the security level decides what is weak", arguments: ["weak key", "weak authority", "SHA-1"])
    func levels(serverChain: String) throws {
        #expect(throws: Never.self) {
            try TestCertificates.trust(serverChain, rules: TrustRules(securityLevel: 0)).evaluateChain()
        }
        #expect(throws: TrustFailure.self) { try TestCertificates.trust(serverChain).evaluateChain() }
        #expect(TrustRules(securityLevel: 9).securityLevel == 5)
        #expect(TrustRules(securityLevel: -9).securityLevel == 0)
    }

    @Test(
        "the chain is what vouches for the leaf, never what else was sent",
        arguments: [
            ("valid", ["Server", "Intermediate", "Root"]),  // the authority comes from the store
            ("valid, disordered", ["Server", "Intermediate", "Root"]),
            ("untrusted root", ["Server", "Stranger"]),
            ("missing intermediate", ["Server"]),
            ("expired", ["Old", "Intermediate"]),
            ("self-signed", ["Self"]),
            ("self-signed with another's chain", ["Self"]),
            ("issued by a mere server", ["Forged"]),
            ("name constraints", ["Outside"]),
        ])
    func chain(serverChain: String, expected: [String]) throws {
        #expect(try TestCertificates.trust(serverChain).certificates.map(\.subject) == expected.map { "CN = \($0)" })
    }

    @Test("other anchors take the place of the authorities, and need not be roots")
    func anchors() throws {
        let trust = try TestCertificates.trust("untrusted root")
        let stranger = try #require(trust.presentedCertificates.last)
        let leaf = try #require(trust.presentedCertificates.first)
        #expect(try trust.evaluateChain(anchors: [stranger]) == trust.presentedCertificates)
        #expect(try trust.evaluateChain(anchors: [leaf]).first == leaf)
        let valid = try TestCertificates.trust("valid")
        #expect(throws: TrustFailure.self) { try valid.evaluateChain(anchors: [stranger]) }
        #expect(throws: TrustFailure.self) { try valid.evaluateChain(anchors: []) }
    }

    @Test("nothing shown is nothing trusted")
    func empty() {
        let trust = ServerTrust(certificates: [], host: "localhost")
        #expect(throws: TrustFailure.noCertificate) { try trust.evaluateChain() }
        #expect(throws: TrustFailure.noCertificate) { try trust.evaluateHost("localhost") }
        #expect(trust.certificates.isEmpty)
    }

    @Test("a thousand certificates take no time to speak of", .timeLimit(.minutes(TestTimeouts.minutes)))
    func flood() throws {
        let testCertificates = try TestCertificates.shared
        let server = try Certificate(pem: testCertificates.server.pem)
        let others = try Certificate.all(inPEM: testCertificates.serverChains.map(\.pem).joined())
        let flood = [server] + (0..<1000).map { others[$0 % others.count] }
        let trust = ServerTrust(certificates: flood, host: "localhost", authorities: .certificates([]))
        #expect(throws: TrustFailure.self) { try trust.evaluateChain() }
        #expect(trust.certificates.first == server)
    }

    @Test("many threads get one answer")
    func concurrency() async throws {
        let trust = try TestCertificates.trust("valid")
        let counts = await withTaskGroup { group in
            for _ in 0..<32 { group.addTask { trust.certificates.count } }
            return await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(counts == [3])
    }

    private static func verdict(of trust: ServerTrust) -> String {
        verdict {
            try trust.evaluateChain()
            try trust.evaluateHost(trust.host)
        }
    }

    /// The case, and the subject of the certificate at fault.
    private static func verdict(_ evaluate: () throws -> Void) -> String {
        do {
            try evaluate()
            return "trusted"
        } catch {
            guard let child = Mirror(reflecting: error).children.first, let label = child.label else {
                return "\(error)"
            }
            return label + ((child.value as? Certificate).map { ": \($0.subject)" } ?? "")
        }
    }
}
