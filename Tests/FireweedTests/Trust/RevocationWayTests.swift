import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("The way of revocation look-ups", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RevocationWayTests {
    let world: RevocationWorld

    init() throws {
        world = try RevocationWorld.shared
    }

    /// A request to a server whose certificate names these places for its status.
    private func error(statusAt fields: String..., change: (inout TransportOptions) -> Void) async throws -> AFError? {
        let leaf = try world.generator.issue("Leaf", ["subjectAltName=DNS:localhost"] + fields, by: world.middle)
        let server = try OpenSSLServer([leaf, world.middle])
        var options = TransportOptions()
        options.certificateAuthorities = .file(world.root.certificate)
        change(&options)
        let session = Session.isolated(
            serverTrustManager: ServerTrustManager(evaluators: ["localhost": world.strict()]),
            transportOptions: options)
        return await session.request(server.url()).serializingData().response.error
    }

    private func reason(_ error: AFError?) -> String {
        guard case .serverTrustEvaluationFailed(.trustEvaluationFailed(let failure as TrustFailure))? = error,
            case .unknownRevocation(_, let reason) = failure
        else { return "no failure of a look-up: \(String(describing: error))" }
        return reason
    }

    @Test("the session's proxy is asked for responders and lists")
    func proxy() async throws {
        let refusal = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        let server = try ScriptedServer.start([.receiveHead, .send(refusal), .close])
        let proxy = Proxy(host: "127.0.0.1", port: Int(server.port), bypassedHosts: ["localhost"])
        let error = try await error(
            statusAt: "authorityInfoAccess=OCSP;URI:http://status.test/ocsp",
            "crlDistributionPoints=URI:http://status.test/list.crl"
        ) { $0.proxy = proxy }
        #expect(reason(error).contains("status 403"), "\(reason(error))")
        let heads = server.events.events.compactMap { event -> String? in
            guard case .head(_, let text) = event else { return nil }
            return text.split(separator: "\r\n").first.map(String.init)
        }
        #expect(heads == ["POST http://status.test/ocsp HTTP/1.1", "GET http://status.test/list.crl HTTP/1.1"])
    }

    @Test("the session's address guard judges responders and lists")
    func addressGuard() async throws {
        let server = try ScriptedServer.start([.receiveHead, .hold], on: .ipv6)
        let network = try #require(IPNetwork("::1"))
        let place = "http://[::1]:\(server.port)/status"
        let error = try await error(
            statusAt: "authorityInfoAccess=OCSP;URI:\(place)", "crlDistributionPoints=URI:\(place)"
        ) { options in
            options.addressGuard = AddressGuard(refusing: [network])
            options.ipVersion = .any
            options.addressOverrides = ["localhost": ["127.0.0.1"]]
        }
        #expect(reason(error).contains("::1"), "\(reason(error))")
        #expect(server.events.events.isEmpty)
    }
}
