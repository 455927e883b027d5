import Fireweed
import FixtureServer
import Foundation
import Testing

/// Servers with one thing wrong about each, before every evaluator, over the wire.
///
/// What it finds is the table in the article `Trust`.
@Suite("Trust evaluators and servers", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ServerMatrixTests {
    /// A server, and the client that is sent to it.
    private struct Row {
        let name: String
        let chain: [CertificateGenerator.Issued]
        var arguments: [String] = []
        var host = "localhost"
        var client: @Sendable (inout TransportOptions) -> Void = { _ in }
    }

    private struct Column {
        let name: String
        /// `nil` for a session without a manager.
        let evaluator: @Sendable (_ pinned: Certificate) throws -> (any ServerTrustEvaluating)?
    }

    private struct Own: ServerTrustEvaluating {
        struct Refused: Error {}

        func evaluate(_ trust: ServerTrust, forHost host: String) throws { throw Refused() }
    }

    @Test("the table in the documentation holds")
    func table() async throws {
        let world = try RevocationWorld.shared
        let columns = try Self.columns(world)
        var lines = [Self.line(["server"] + columns.map(\.name)), Self.line(columns.map { _ in "---" } + ["---"])]
        for row in try Self.rows(world) {
            let server = try OpenSSLServer(row.chain, row.arguments)
            let pinned = try Certificate(pem: try #require(row.chain.first).pem)
            var words = [row.name]
            for column in columns {
                words.append(try await Self.word(column, pinned, row, server.url(host: row.host), world))
            }
            lines.append(Self.line(words))
        }
        let file = Repository.root.appending(path: "Sources/Fireweed/Fireweed.docc/Articles/Trust.md")
        let found = lines.joined(separator: "\n")
        if let output = ProcessInfo.processInfo.environment["TRUST_TABLE"] {
            try found.write(toFile: output, atomically: true, encoding: .utf8)
        }
        let documentation = try String(contentsOf: file, encoding: .utf8)
        #expect(documentation.contains(found), "the table is now:\n\(found)")
    }

    private static func line(_ words: [String]) -> String {
        "| " + words.joined(separator: " | ") + " |"
    }

    private static func word(
        _ column: Column, _ pinned: Certificate, _ row: Row, _ url: URL, _ world: RevocationWorld
    ) async throws -> String {
        var options = TransportOptions()
        options.certificateAuthorities = .file(world.root.certificate)
        row.client(&options)
        let manager = try column.evaluator(pinned).map { ServerTrustManager(evaluators: [row.host: $0]) }
        let session = Session.isolated(serverTrustManager: manager, transportOptions: options)
        let response = await session.request(url).serializingData().response
        guard let error = response.error else { return response.response?.statusCode == 200 ? "ok" : "?" }
        return word(for: error)
    }

    /// One word for each kind of failure; what is not expected here comes out whole.
    private static func word(for error: AFError) -> String {
        switch error {
        case .serverTrustEvaluationFailed(let reason):
            switch reason {
            case .trustEvaluationFailed(let failure as TrustFailure):
                switch failure {
                case .hostMismatch: return "host"
                case .revoked: return "revoked"
                case .unknownRevocation: return "untold"
                default: return "chain"
                }
            case .certificatePinningFailed, .publicKeyPinningFailed: return "pin"
            case .customEvaluationFailed(is PublicKeyPinError): return "pin"
            case .customEvaluationFailed: return "own"
            case .noRequiredEvaluator, .noCertificatesFound, .noPublicKeysFound, .policyApplicationFailed,
                .settingAnchorCertificatesFailed, .revocationPolicyCreationFailed, .trustEvaluationFailed,
                .defaultEvaluationFailed, .hostValidationFailed, .revocationCheckFailed:
                return "\(reason)"
            }
        case .sessionTaskFailed(let error as URLError):
            if let failure = error.userInfo[NSUnderlyingErrorKey] as? TrustFailure {
                if case .hostMismatch = failure { return "host" }
                return "chain"
            }
            switch error.code {
            case .secureConnectionFailed: return "TLS"
            case .clientCertificateRequired: return "required"
            case .clientCertificateRejected: return "rejected"
            default: return "\(error)"
            }
        default: return "\(error)"
        }
    }

    private static func columns(_ world: RevocationWorld) throws -> [Column] {
        [
            Column(name: "no manager") { _ in nil },
            Column(name: "default") { _ in .default },
            Column(name: "default, any host") { _ in .default(validateHost: false) },
            Column(name: "revocation") { _ in .revocationChecking },
            Column(name: "revocation, required") { _ in world.strict() },
            Column(name: "certificate") { .pinnedCertificates(certificates: [$0]) },
            Column(name: "certificate as authority") {
                .pinnedCertificates(certificates: [$0], acceptSelfSignedCertificates: true)
            },
            Column(name: "certificate alone") {
                .pinnedCertificates(certificates: [$0], performDefaultValidation: false, validateHost: false)
            },
            Column(name: "key") { .publicKeys(keys: [try $0.publicKey]) },
            Column(name: "key alone") {
                .publicKeys(keys: [try $0.publicKey], performDefaultValidation: false, validateHost: false)
            },
            Column(name: "another's pin") { _ in
                .publicKeys(pins: [try PublicKeyPin("sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")])
            },
            Column(name: "composite") { pinned in
                .composite(evaluators: [
                    RevocationTrustEvaluator(), PublicKeysTrustEvaluator(keys: [try pinned.publicKey]),
                ])
            },
            Column(name: "disabled") { _ in DisabledTrustEvaluator() },
            Column(name: "own, refusing") { _ in Own() },
        ]
    }

    private static func rows(_ world: RevocationWorld) throws -> [Row] {
        try certificateRows(world) + protocolRows(world)
    }

    private static func certificateRows(_ world: RevocationWorld) throws -> [Row] {
        let (generator, root, middle) = (world.generator, world.root, world.middle)
        let local = ["subjectAltName=DNS:localhost", "extendedKeyUsage=serverAuth"]
        let stranger = try generator.issue("Stranger", CertificateGenerator.authority)
        let constrained = try generator.issue(
            "Constrained", CertificateGenerator.authority + ["nameConstraints=critical,permitted;DNS:example.com"],
            by: root)
        func row(_ name: String, _ chain: [CertificateGenerator.Issued]) -> Row { Row(name: name, chain: chain) }
        return [
            row("nothing wrong", [world.good, middle]),
            row("expired", [try generator.issue("Old", local, by: middle, dates: .past), middle]),
            row("not yet valid", [try generator.issue("Young", local, by: middle, dates: .future), middle]),
            Row(name: "wrong host", chain: [world.good, middle], host: "wrong.localhost"),
            row("self-signed", [try generator.issue("Self", local)]),
            row("untrusted root", [try generator.issue("Server", local, by: stranger), stranger]),
            row("missing intermediate", [world.good]),
            row("revoked, by OCSP", [world.revoked, middle]),
            row("revoked, by CRL", [world.listedRevoked, middle]),
            row("revoked, nobody to ask", [world.silentRevoked, middle]),
            row("weak key", [try generator.issue("Weak", local, by: middle, key: .rsa1024), middle]),
            row("SHA-1 signature", [try generator.issue("Hash", local, by: middle, digest: "sha1"), middle]),
            row("name constraints", [try generator.issue("Outside", local, by: constrained), constrained]),
            row(
                "a client's certificate",
                [
                    try generator.issue(
                        "Client", ["subjectAltName=DNS:localhost", "extendedKeyUsage=clientAuth"], by: middle),
                    middle,
                ]),
        ]
    }

    private static func protocolRows(_ world: RevocationWorld) throws -> [Row] {
        let (generator, root, chain) = (world.generator, world.root, [world.good, world.middle])
        let response = try generator.stapledStatus(
            of: world.silentRevoked, register: world.register, issuer: world.middle)
        func client(by issuer: CertificateGenerator.Issued) throws -> ClientIdentity {
            let issued = try generator.issue("Client", ["extendedKeyUsage=clientAuth"], by: issuer)
            return ClientIdentity(certificate: issued.certificate, privateKey: issued.key)
        }
        let right = try client(by: root)
        let wrong = try client(by: generator.issue("Stranger", CertificateGenerator.authority))
        let demand = ["-Verify", "1", "-verify_return_error", "-CAfile", root.certificate.path]
        let stapled = [world.silentRevoked, world.middle]
        return [
            Row(name: "revoked, stapled, TLS 1.3", chain: stapled, arguments: ["-status_file", response.path]),
            Row(
                name: "revoked, stapled, TLS 1.2", chain: stapled,
                arguments: ["-tls1_2", "-status_file", response.path]),
            Row(
                name: "no common version", chain: chain, arguments: ["-tls1_2"],
                client: { $0.minimumTLSVersion = .tls13 }),
            Row(
                name: "no common cipher", chain: chain,
                arguments: ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-GCM-SHA384"],
                client: {
                    $0.maximumTLSVersion = .tls12
                    $0.cipherList = "ECDHE-ECDSA-AES128-GCM-SHA256"
                }),
            Row(name: "client certificate missing", chain: chain, arguments: demand),
            Row(
                name: "client certificate wrong", chain: chain, arguments: demand, client: { $0.clientIdentity = wrong }
            ),
            Row(
                name: "client certificate right", chain: chain, arguments: demand, client: { $0.clientIdentity = right }
            ),
        ]
    }
}
