import Fireweed
import FixtureServer
import Foundation
import Testing

/// Sessions against nginx over TLS: the rules decide inside the handshake.
@Suite("Trust evaluation in the TLS handshake", .timeLimit(.minutes(TestTimeouts.minutes)))
struct TrustHandshakeTests {
    private static let made = Result {
        let authority = try CertificateAuthority()
        let issued = try authority.issue()
        return (authority, issued, try NginxServer(certificate: issued))
    }

    private let authority: Certificate
    private let server: Certificate
    private let url: URL

    init() throws {
        let (authority, issued, nginx) = try Self.made.get()
        self.authority = try Certificate(contentsOf: authority.certificate)
        server = try Certificate(contentsOf: issued.certificate)
        url = try #require(nginx.secureURL).appendingPathComponent("small")
    }

    @Test("rules that accept the server let the request through")
    func accepted() async throws {
        let accepting: [any ServerTrustEvaluating] = [
            PinnedCertificatesTrustEvaluator(certificates: [server], acceptSelfSignedCertificates: true),
            PublicKeysTrustEvaluator(keys: [try server.publicKey], performDefaultValidation: false),
            DisabledTrustEvaluator(),
        ]
        for evaluator in accepting {
            let session = Session.isolated(serverTrustManager: ServerTrustManager(evaluators: ["localhost": evaluator]))
            let response = await session.request(url).serializingData().response
            #expect(response.response?.statusCode == 200, "\(response)")
        }
    }

    @Test("the session's own authorities are those of the default rule")
    func authorities() async {
        var options = TransportOptions()
        options.certificateAuthorities = .certificates([authority])
        let manager = ServerTrustManager(evaluators: ["localhost": .default])
        let session = Session.isolated(serverTrustManager: manager, transportOptions: options)
        let response = await session.request(url).serializingData().response
        #expect(response.response?.statusCode == 200, "\(response)")
    }

    @Test("a refusal is the error, with the chain's fault in it")
    func refused() async {
        let session = Session.isolated(
            serverTrustManager: ServerTrustManager(evaluators: ["localhost": .default]))
        let response = await session.request(url).serializingData().response
        guard case .serverTrustEvaluationFailed(.trustEvaluationFailed(let failure as TrustFailure)) = response.error
        else {
            Issue.record("\(response)")
            return
        }
        #expect(failure == .unknownIssuer(server))
        #expect(response.error?.underlyingError as? TrustFailure == failure)
        #expect(response.response == nil)
        #expect(response.metrics?.transactionMetrics.last?.countOfRequestHeaderBytesSent ?? 0 == 0)
    }

    @Test("what the authorities refuse where no rule is for the host is the failure of a session without rules")
    func withoutRule() async {
        let managers = [nil, ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: ["h.test": .default])]
        for (manager, delegate) in zip(managers + [nil], [SessionDelegate(), SessionDelegate(), Passive()]) {
            let session = Session(
                configuration: .af.ephemeral, delegate: delegate, serverTrustManager: manager)
            let error = await session.request(url).serializingData().response.error
            #expect(error?.urlErrorCode == .serverCertificateHasUnknownRoot, "\(String(describing: error))")
            #expect(error?.isSessionTaskError == true)
        }
    }

    /// A delegate that leaves every decision to the library.
    private final class Passive: SessionDelegate, @unchecked Sendable {
        // SAFETY: it adds no stored property.
    }

    @Test("a host without a rule is refused")
    func noRule() async {
        let session = Session.isolated(serverTrustManager: ServerTrustManager(evaluators: [:]))
        let response = await session.request(url).serializingData().response
        guard case .serverTrustEvaluationFailed(.noRequiredEvaluator("localhost")) = response.error else {
            Issue.record("\(response)")
            return
        }
    }
}
