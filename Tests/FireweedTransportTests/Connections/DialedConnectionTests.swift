import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Connections of WebSockets on the engine", .timeLimit(.minutes(TestTimeouts.minutes)))
struct DialedConnectionTests {
    /// Is told nothing, since no WebSocket opens here.
    private final class Listener: WebSocketListener {
        func webSocketDidOpen(_ channel: any WebSocketChannel, subprotocol: String?) {}
        func webSocketDidReceive(_ message: WebSocketMessage) -> Flow { .undecided }
        func webSocketDidClose(code: UInt16, reason: Data) {}
    }

    private func end(_ url: URL, in stage: EngineStage) async throws -> RecordedTransfer {
        try await stage.end(url) { $0.webSocket = WebSocketOffer(listener: Listener()) }
    }

    @Test("HTTP/1.1 alone is offered, whatever the session speaks (RFC 6455 §4.1)")
    func offer() async throws {
        let peer = try SecurePeer(TLSStage.chain, role: .http2("silence"))
        try await TLSStage.play({ $0.httpVersion = .automatic }) { stage in
            let transfer = stage.transfer(peer.url()) { $0.webSocket = WebSocketOffer(listener: Listener()) }
            transfer.start()
            let connected = try await peer.events.first { $0.hasPrefix("connected") }
            #expect(connected.hasSuffix(" http/1.1"), "the protocol that was agreed on: \(connected)")
            transfer.cancel()
        }
    }

    @Test("the time for connecting covers the proxy's tunnel and the handshake of TLS", arguments: ["http", "https"])
    func connectTimeout(scheme: String) async throws {
        let silent = try ScriptedServer.start([.hold])
        try await TLSStage.play({
            if scheme == "http" { $0.proxy = Proxy(host: "localhost", port: Int(silent.port)) }
            $0.connectTimeout = .milliseconds(200)
        }) { stage in
            let url = try #require(URL(string: "\(scheme)://localhost:\(silent.port)/"))
            let transfer = try await end(url, in: stage)
            #expect(
                transfer.code == .timedOut && transfer.failureText.contains("connecting"), "\(transfer.failureText)")
        }
    }

    @Test("the address guard judges the address that is connected to")
    func guarded() async throws {
        let server = try ScriptedServer.start([.hold])
        let refused = try #require(IPNetwork("127.0.0.0/8"))
        try await TLSStage.play({ $0.addressGuard = AddressGuard(refusing: [refused]) }) { stage in
            let transfer = try await end(server.url(), in: stage)
            #expect(transfer.code == .resourceUnavailable)
        }
        #expect(server.events.events.isEmpty)
    }

    @Test("a WebSocket that waits is cancelled when the transport shuts down, in every stage of its connection")
    func shutDown() async throws {
        let silent = try ScriptedServer.start([.hold])
        for scheme in ["http", "https"] {
            try await TLSStage.play { stage in
                let url = try #require(URL(string: "\(scheme)://localhost:\(silent.port)/"))
                let transfer = stage.transfer(url) { $0.webSocket = WebSocketOffer(listener: Listener()) }
                transfer.start()
                try await silent.events.first { if case .accepted = $0 { true } else { false } }
                stage.transport.shutDown()
                #expect(try await transfer.end().isCancelled)
            }
        }
    }
}
