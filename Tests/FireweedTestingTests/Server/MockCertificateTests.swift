import FireweedTesting
import Foundation
import Testing

@Suite("Certificates of mock servers", .timeLimit(.minutes(testTimeoutMinutes)))
struct MockCertificateTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let certificate: MockCertificate
        /// The case of `TrustFailure`; `nil` for a certificate that is accepted.
        let failure: String?
        var testDescription: String { "\(certificate)" }

        init(_ certificate: MockCertificate, _ failure: String?) {
            self.certificate = certificate
            self.failure = failure
        }
    }

    private static let rows = [
        Row(.trusted, nil), Row(.expired, "expired"), Row(.notYetValid, "notYetValid"),
        Row(.wrongHost, "hostMismatch"), Row(.addressAsName, "hostMismatch"), Row(.commonNameOnly, "hostMismatch"),
        Row(.selfSigned, "selfSigned"), Row(.selfSignedBeforeOtherChain, "selfSigned"),
        Row(.untrustedRoot, "untrustedRoot"), Row(.unknownIssuer, "unknownIssuer"),
        Row(.missingIntermediate, "unknownIssuer"), Row(.issuedByServer, "invalidAuthority"),
        Row(.nameConstraints, "forbiddenName"), Row(.weakKey, "weakKey"), Row(.weakAuthority, "weakKey"),
        Row(.sha1Signature, "weakSignature"), Row(.clientOnly, "unsuitablePurpose"),
        Row(.revokedByStapledStatus, "revoked"), Row(.revokedByResponder, "revoked"), Row(.revokedByList, "revoked"),
    ]

    private func failure(_ error: AFError?) -> TrustFailure? {
        switch error {
        case .serverTrustEvaluationFailed(.trustEvaluationFailed(let error)): error as? TrustFailure
        default: nil
        }
    }

    private func name(_ failure: TrustFailure?) -> String? {
        failure.map { Mirror(reflecting: $0).children.first?.label ?? "\($0)" }
    }

    @Test("each certificate is refused for its own reason, before a byte of the request", arguments: rows)
    func refusals(row: Row) async throws {
        let server = try MockServer.start(certificate: row.certificate) { Stub.any().reply(.text("fine")) }
        let evaluators: [String: any ServerTrustEvaluating] = [
            "localhost": .revocationChecking(timeout: .seconds(60)), "127.0.0.1": .revocationChecking,
        ]
        let checking = server.session(serverTrustManager: ServerTrustManager(evaluators: evaluators))
        let response = await checking.request(server.url()).serializingString().response
        #expect(name(failure(response.error)) == row.failure, "\(String(describing: response.error))")
        #expect((response.value == "fine") == (row.failure == nil))
        #expect(server.stubs.requests.isEmpty == (row.failure != nil))
    }

    @Test("without looking up revocation, a session accepts what is right or revoked alone", arguments: rows)
    func ordinarySession(row: Row) async throws {
        let server = try MockServer.start(certificate: row.certificate) { Stub.any().reply(.text("fine")) }
        let response = await server.session().request(server.url()).serializingString().response
        #expect((response.value == "fine") == (row.failure == nil || row.failure == "revoked"))
    }

    @Test("the table has every kind")
    func kinds() {
        #expect(Self.rows.map(\.certificate) == MockCertificate.allCases)
    }
}
