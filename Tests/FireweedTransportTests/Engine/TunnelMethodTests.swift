import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("A request with the method CONNECT", .timeLimit(.minutes(TestTimeouts.minutes)))
struct TunnelMethodTests {
    @Test("fails before a connection is made, and says why", arguments: [RequestMessage.HTTPVersion.automatic, .http2])
    func refused(version: RequestMessage.HTTPVersion) async throws {
        let server = try ScriptedServer.start([.hold])
        try await EngineStage.play({ $0.httpVersion = version }) { stage in
            let transfer = try await stage.end(server.url()) { $0.method = "CONNECT" }
            #expect(transfer.code == .badURL)
            #expect(transfer.failureText.contains("CONNECT"), "\(transfer.failureText)")
        }
        #expect(server.events.events.isEmpty)
    }
}
