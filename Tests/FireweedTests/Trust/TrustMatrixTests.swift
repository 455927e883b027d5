import Fireweed
import FixtureServer
import Foundation
import Testing

/// Every kind of chain before every evaluator.
@Suite("Trust evaluators and certificate chains")
struct TrustMatrixTests {
    // ok: accepted; chain: the authorities refuse; host: wrong name; pin: not pinned.
    // PC and PK pin the server's certificate and key, the intermediate's hash (PKI), or the root's certificate (PCR);
    // "self": self-signed are accepted; "-v": no default validation; "-h": no host validation.
    private static let expected = """
        serverChain                          | default | -h    | PC    | PC self | PCR   | PC -v | PC -v -h | PK    | PK -v -h | PKI   | all   | none
        valid                            | ok      | ok    | ok    | ok      | ok    | ok    | ok       | ok    | ok       | ok    | ok    | ok
        valid, whole                     | ok      | ok    | ok    | ok      | ok    | ok    | ok       | ok    | ok       | ok    | ok    | ok
        valid, disordered                | ok      | ok    | ok    | ok      | ok    | ok    | ok       | ok    | ok       | ok    | ok    | ok
        expired                          | chain   | chain | chain | chain   | chain | ok    | ok       | chain | ok       | chain | chain | ok
        not yet valid                    | chain   | chain | chain | chain   | chain | ok    | ok       | chain | ok       | chain | chain | ok
        wrong host                       | host    | ok    | host  | host    | host  | host  | ok       | host  | ok       | host  | host  | ok
        self-signed                      | chain   | chain | chain | ok      | chain | ok    | ok       | chain | ok       | chain | chain | ok
        untrusted root                   | chain   | chain | chain | ok      | chain | ok    | ok       | chain | ok       | chain | chain | ok
        unknown issuer                   | chain   | chain | chain | ok      | chain | ok    | ok       | chain | ok       | chain | chain | ok
        missing intermediate             | chain   | chain | chain | ok      | chain | ok    | ok       | chain | ok       | chain | chain | ok
        weak key                         | chain   | chain | chain | chain   | chain | ok    | ok       | chain | ok       | chain | chain | ok
        weak authority                   | chain   | chain | chain | chain   | chain | ok    | ok       | chain | ok       | chain | chain | ok
        SHA-1                            | chain   | chain | chain | chain   | chain | ok    | ok       | chain | ok       | chain | chain | ok
        name constraints                 | chain   | chain | chain | chain   | chain | ok    | ok       | chain | ok       | chain | chain | ok
        client purpose                   | chain   | chain | chain | chain   | chain | ok    | ok       | chain | ok       | chain | chain | ok
        IP address                       | ok      | ok    | ok    | ok      | ok    | ok    | ok       | ok    | ok       | ok    | ok    | ok
        address as a name                | host    | ok    | host  | host    | host  | host  | ok       | host  | ok       | host  | host  | ok
        wildcard                         | ok      | ok    | ok    | ok      | ok    | ok    | ok       | ok    | ok       | ok    | ok    | ok
        common name only                 | host    | ok    | host  | host    | host  | host  | ok       | host  | ok       | host  | host  | ok
        self-signed with another's chain | chain   | chain | chain | chain   | chain | pin   | pin      | chain | pin      | chain | chain | ok
        issued by a mere server          | chain   | chain | chain | chain   | chain | pin   | pin      | chain | pin      | chain | chain | ok
        """

    @Test("the table holds")
    func table() throws {
        let testCertificates = try TestCertificates.shared
        let root = try Certificate(pem: testCertificates.root.pem)
        let intermediate = try Certificate(pem: testCertificates.intermediate.pem)
        let rows = try testCertificates.serverChains.map { serverChain in
            let chain = try Certificate.all(inPEM: serverChain.pem)
            // An attacker's own certificate is not what anybody pins: the server's that is sent along is.
            let isForged = serverChain.name.contains("another's") || serverChain.name.contains("mere")
            let pinned = try #require(isForged ? chain.dropFirst().first : chain.first)
            let evaluators = try Self.evaluators(pinned: pinned, intermediate: intermediate, root: root)
            // Each evaluator has a trust of its own: pins that are accepted as authorities stay with the trust.
            return [serverChain.name]
                + evaluators.map {
                    let authorities = CertificateAuthorities.certificates([root])
                    return Self.word(
                        for: $0, on: ServerTrust(certificates: chain, host: serverChain.host, authorities: authorities))
                }
        }
        let expected = Self.expected.split(separator: "\n").map {
            $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        for (row, expectation) in zip(rows, expected.dropFirst()) { #expect(row == expectation) }
        #expect(rows.count == expected.count - 1)
    }

    /// In the order of the table's columns.
    private static func evaluators(
        pinned: Certificate, intermediate: Certificate, root: Certificate
    ) throws -> [any ServerTrustEvaluating] {
        let key = try pinned.publicKey
        return [
            .default,
            .default(validateHost: false),
            .pinnedCertificates(certificates: [pinned]),
            .pinnedCertificates(certificates: [pinned], acceptSelfSignedCertificates: true),
            .pinnedCertificates(certificates: [root]),
            .pinnedCertificates(certificates: [pinned], performDefaultValidation: false),
            .pinnedCertificates(certificates: [pinned], performDefaultValidation: false, validateHost: false),
            .publicKeys(keys: [key]),
            .publicKeys(keys: [key], performDefaultValidation: false, validateHost: false),
            .publicKeys(pins: [], backupPins: [try intermediate.publicKey.pin]),
            .composite(evaluators: [DefaultTrustEvaluator(), PublicKeysTrustEvaluator(keys: [key])]),
            DisabledTrustEvaluator(),
        ] as [any ServerTrustEvaluating]
    }

    private static func word(for evaluator: any ServerTrustEvaluating, on trust: ServerTrust) -> String {
        do {
            try evaluator.evaluate(trust, forHost: trust.host)
            return "ok"
        } catch AFError.serverTrustEvaluationFailed(let reason) {
            switch reason {
            case .trustEvaluationFailed(let error as TrustFailure):
                guard case .hostMismatch(let host, _) = error else { return "chain" }
                return host == trust.host ? "host" : "wrong host"
            case .certificatePinningFailed, .publicKeyPinningFailed: return "pin"
            case .customEvaluationFailed(is PublicKeyPinError): return "pin"
            case .noRequiredEvaluator, .revocationCheckFailed, .noCertificatesFound, .noPublicKeysFound,
                .policyApplicationFailed, .settingAnchorCertificatesFailed, .revocationPolicyCreationFailed,
                .trustEvaluationFailed, .defaultEvaluationFailed, .hostValidationFailed, .customEvaluationFailed:
                return "\(reason)"
            }
        } catch {
            return "\(error)"
        }
    }
}
