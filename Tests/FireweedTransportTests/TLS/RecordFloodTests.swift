import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Floods of TLS records without content", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RecordFloodTests {
    @Test("a ticket that comes on an idle connection does not end it")
    func idle() async throws {
        let events = EventLog<String>()
        let server = try TLSTestServer { ssl in
            for _ in 0..<3 {
                guard TLSTestServer.readHead(ssl) else { return }
                TLSTestServer.write(Answer.small, to: ssl)
                guard TLSTestServer.sendTicket(ssl) else { return }
                events.note("ticket")
            }
            _ = TLSTestServer.readHead(ssl)
        }
        let plain = try ScriptedServer.start([
            .receiveHead, .send(Answer.small), .receiveHead, .send(Answer.small), .hold,
        ])
        try await TLSStage.play { stage in
            for index in 0..<3 {
                let transfer = try await stage.end(server.url)
                #expect(transfer.code == nil && transfer.record.end?.report.isReusedConnection == (index > 0))
                _ = try await events.nth(index + 1) { $0 == "ticket" }
                // The loop has seen the ticket when a later exchange is over.
                if index < 2 { #expect(try await stage.end(plain.url()).code == nil) }
            }
        }
    }

    @Test("a flood of tickets ends the connection")
    func flood() async throws {
        let server = try TLSTestServer { ssl in
            guard TLSTestServer.readHead(ssl) else { return }
            for _ in 0..<100_000 {
                guard TLSTestServer.sendTicket(ssl) else { return }
            }
        }
        try await TLSStage.play({ $0.maximumFramingByteCount = 16 * 1024 }) { stage in
            let transfer = try await stage.end(server.url)
            guard case .refused(.framingBytes(limit: 16 * 1024)) = transfer.record.end?.failure else {
                Issue.record("\(transfer.failureText)")
                return
            }
        }
    }
}
