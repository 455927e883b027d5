import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Transport abilities", .timeLimit(.minutes(TestTimeouts.minutes)))
struct TransportAbilityTests {
    private func scripted() -> ScriptedTransport {
        ScriptedTransport { _ in [.head(ResponseHead(status: 200, fields: []))] }
    }

    @Test("a trust manager that the transport cannot honour fails every request")
    func noTrust() async {
        let manager = ServerTrustManager(evaluators: ["a.test": DisabledTrustEvaluator()])
        let session = Session(transport: scripted(), serverTrustManager: manager)
        let error = await session.request("https://a.test/").serializingData().response.error
        guard case .sessionInvalidated(let cause?) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(cause as? MissingAbility == .serverTrust)
    }

    @Test("a transport that is given to a session judges servers by the session's manager")
    func givenTransport() async throws {
        let authority = try CertificateAuthority()
        let nginx = try NginxServer(certificate: authority.issue())
        let url = try #require(nginx.secureURL).appendingPathComponent("small")
        for accepts in [true, false] {
            let hosts = ProtectedList<String>()
            let evaluator = RecordingEvaluator(accepts: accepts, hosts: hosts)
            let session = Session(
                transport: EngineTransport(settings: PoolSettings()),
                serverTrustManager: ServerTrustManager(evaluators: ["localhost": evaluator]))
            let response = await session.request(url).serializingData().response
            #expect((response.error == nil) == accepts && hosts.all == ["localhost"])
        }
    }

    @Test("a WebSocket fails with a clear error where the transport has none")
    func noWebSockets() async {
        let session = Session(transport: scripted())
        let error = await withCheckedContinuation { continuation in
            session.webSocketRequest(to: "ws://a.test/").streamMessageEvents { event in
                if case .completed(let completion) = event.kind { continuation.resume(returning: completion.error) }
            }
        }
        #expect(error?.underlyingError as? MissingAbility == .webSockets, "\(String(describing: error))")
    }
}

private struct RecordingEvaluator: ServerTrustEvaluating {
    struct Refused: Error {}

    let accepts: Bool
    let hosts: ProtectedList<String>

    func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        hosts.append(host)
        guard accepts else { throw Refused() }
    }
}
