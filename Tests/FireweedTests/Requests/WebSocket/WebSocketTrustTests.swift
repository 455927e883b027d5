import Fireweed
import FixtureServer
import Foundation
import Testing

/// May wait, and accepts every chain or none.
private struct SlowEvaluator: ServerTrustEvaluating {
    struct Refused: Error {}

    let accepts: Bool

    var mayWait: Bool { true }

    func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        guard accepts else { throw Refused() }
    }
}

@Suite("Trust and identity of a wss connection", .timeLimit(.minutes(TestTimeouts.minutes)))
struct WebSocketTrustTests {
    private static let made = Result {
        let testCertificates = try TestCertificates.shared
        let names = "subjectAltName=DNS:localhost,DNS:a.localhost"
        let leaf = try testCertificates.generator.issue(
            "Socket", [names, "extendedKeyUsage=serverAuth"], by: testCertificates.intermediate)
        return (testCertificates, [leaf, testCertificates.intermediate])
    }

    private let testCertificates: TestCertificates
    private let chain: [CertificateGenerator.Issued]
    private let refusal = "HTTP/1.1 403 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    init() throws {
        (testCertificates, chain) = try Self.made.get()
    }

    private func session(
        _ manager: ServerTrustManager? = nil, _ change: (inout TransportOptions) -> Void = { _ in }
    ) -> Session {
        testCertificates.session(manager, change)
    }

    private func pins(_ certificate: CertificateGenerator.Issued) throws -> ServerTrustManager {
        let pin = try Certificate(contentsOf: certificate.certificate)
        return ServerTrustManager(
            evaluators: ["localhost": PinnedCertificatesTrustEvaluator(certificates: [pin])])
    }

    @Test(
        "a refused server gets not one byte of the handshake",
        arguments: ["wrong host", "wrong pin", "wrong key", "unknown authority", "no rule"])
    func noByte(reason: String) async throws {
        let peer = try SecurePeer(chain, role: .answering(refusal))
        let host = reason == "wrong host" ? "b.localhost" : "localhost"
        let session =
            switch reason {
            case "wrong pin": session(try pins(testCertificates.server))
            case "wrong key":
                session(
                    ServerTrustManager(evaluators: [
                        "localhost": PublicKeysTrustEvaluator(
                            keys: [try Certificate(contentsOf: testCertificates.server.certificate).publicKey])
                    ]))
            case "unknown authority": session { $0.certificateAuthorities = .certificates([]) }
            case "no rule": session(ServerTrustManager(evaluators: ["elsewhere": DefaultTrustEvaluator()]))
            default: session()
            }
        let request = session.webSocketRequest(to: "wss://\(host):\(peer.port)/", headers: ["X-Secret": "1"])
        let sights = await request.webSocketTask().sights()
        #expect(sights.count == 1 && request.response == nil)
        if reason.hasSuffix("pin") || reason.hasSuffix("key") || reason == "no rule" {
            #expect(request.error?.isServerTrustEvaluationError == true)
        } else {
            let codes: [URLError.Code] = [.serverCertificateUntrusted, .serverCertificateHasUnknownRoot]
            #expect(request.error?.urlErrorCode.map(codes.contains) == true, "\(String(describing: request.error))")
        }
        let ended = try await peer.events.first { $0.hasPrefix("refused") || $0.hasPrefix("closed") }
        #expect(ended.hasPrefix("refused"), "\(peer.events.events)")
        #expect(peer.count("connected") == 0 && peer.count("request") == 0 && peer.count("bytes") == 0)
    }

    @Test("a server that fits its pin is spoken to")
    func pinned() async throws {
        let peer = try SecurePeer(chain, role: .answering(refusal))
        let session = session(try pins(chain[0]))
        let request = session.webSocketRequest(to: "wss://localhost:\(peer.port)/")
        _ = await request.webSocketTask().sights()
        #expect(request.response?.statusCode == 403, "\(String(describing: request.error)) \(peer.events.events)")
        try await peer.waits(for: 1, of: "request")
    }

    @Test("an evaluator that waits decides before a byte of the handshake leaves", arguments: [true, false])
    func waiting(accepts: Bool) async throws {
        let peer = try SecurePeer(chain, role: .answering(refusal))
        let session = session(ServerTrustManager(evaluators: ["localhost": SlowEvaluator(accepts: accepts)]))
        let request = session.webSocketRequest(to: "wss://localhost:\(peer.port)/")
        _ = await request.webSocketTask().sights()
        if accepts {
            #expect(request.response?.statusCode == 403, "\(String(describing: request.error))")
        } else {
            #expect(request.error?.isServerTrustEvaluationError == true && request.response == nil)
        }
        // A handshake is held for the verdict, or aborted and made again.
        try await peer.waits(for: 1, of: accepts ? "request" : "refused")
        #expect(peer.count("refused") <= 1 && peer.count("request") == (accepts ? 1 : 0), "\(peer.events.events)")
    }

    @Test("a server that demands a certificate sees the session's identity; without one there is no WebSocket")
    func identity() async throws {
        let authority = try CertificateAuthority()
        let server = try WebSocketServer(certificate: authority.issue(), clientAuthority: authority)
        let issued = try authority.issue(purpose: "clientAuth")
        var options = TransportOptions()
        options.certificateAuthorities = .file(authority.certificate)
        let anonymous = Session.isolated(transportOptions: options)
        let nobody = anonymous.webSocketRequest(to: server.url("/peer"))
        #expect(await nobody.webSocketTask().sights().count == 1)
        let refusals: [URLError.Code?] = [.clientCertificateRequired, .networkConnectionLost]
        #expect(refusals.contains(nobody.error?.urlErrorCode) && nobody.response == nil)
        options.clientIdentity = ClientIdentity(certificate: issued.certificate, privateKey: issued.key)
        let session = Session.isolated(transportOptions: options)
        let known = session.webSocketRequest(to: server.url("/peer"))
        let sights = await known.webSocketTask().sights { if $0.message != nil { $0.close(sending: .normalClosure) } }
        #expect(sights.contains(.text("\"Fireweed test\"")), "\(sights)")
        // The identity of one host is not shown to another.
        options.clientIdentities = ["localhost": nil]
        let hiding = Session.isolated(transportOptions: options)
        let hidden = hiding.webSocketRequest(to: server.url("/peer"))
        _ = await hidden.webSocketTask().sights()
        #expect(refusals.contains(hidden.error?.urlErrorCode) && hidden.response == nil)
    }
}
