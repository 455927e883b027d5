import FixtureServer
import Foundation
import Testing

@testable import Fireweed

@Suite("Logging", .timeLimit(.minutes(TestTimeouts.minutes)))
struct LoggingMonitorTests {
    let server: FixtureServer
    private let log = ProtectedList<String>()

    init() throws {
        server = try FixtureServer.start()
    }

    private func entries(_ detail: LoggingMonitor.Detail = .line, _ work: (Session) async -> Void) async -> [String] {
        let monitor = LoggingMonitor(detail: detail) { [log] in log.append($0) }
        let session = Session.isolated(eventMonitors: [monitor])
        await work(session)
        monitor.queue.sync {}
        return log.all
    }

    @Test("one line for each attempt: method, URL, status, bytes and time")
    func line() async throws {
        let lines = await entries { session in
            _ = await session.request(server.url("/bytes/1234?page=2&token=secret")).serializingData().response
            _ = await session.request(server.url("/redirect/2")).serializingData().response
            _ = await session.request(server.url("/status/404")).validate().serializingData().response
            _ = await session.request("http://127.0.0.1:1/").serializingData().response
            _ = await session.request("http://[broken").serializingData().response
            _ = await session.request("http://me:secret@[broken/?token=secret").serializingData().response
        }
        #expect(lines.count == 6)
        let start = "GET \(server.url.absoluteString)/bytes/1234?page=2&token=[redacted] → 200, 1.2 kB in "
        #expect(lines[0].hasPrefix(start) && lines[0].hasSuffix(" ms"))
        #expect(lines[1].contains("→ 200") && lines[1].hasSuffix(", 2 redirected"))
        #expect(lines[2].contains("→ 404") && lines[2].contains(", failed: "))
        #expect(lines[3].contains("→ 0 B in ") && lines[3].contains(", failed: "))
        #expect(lines[4].hasPrefix("not sent: "))
        #expect(lines.allSatisfy { !$0.contains("\n") && !$0.contains("secret") })
    }

    @Test("in full: both heads of each hop, the connection and the timings, without secrets")
    func full() async throws {
        let text = await entries(.full) { session in
            _ = await session.request(
                server.url("/cookies/set?a=hidden"), headers: [.authorization(bearerToken: "hidden")]
            )
            .serializingData().response
        }.joined(separator: "\n")
        for part in [
            "  > GET \(server.url.absoluteString)/cookies", "  > Authorization: Bearer [redacted]", "  < http/1.1 302",
            "  < Set-Cookie: [redacted]", "  > Cookie: [redacted]", "  < http/1.1 200",
            "  * new connection to 127.0.0.1:",
            "  * reused connection",
        ] { #expect(text.contains(part), "\(part) is missing in \(text)") }
        #expect(!text.replacingOccurrences(of: "a=hidden", with: "").contains("hidden"))
    }

    @Test("a server cannot forge lines or steer a terminal")
    func controls() {
        #expect(ExchangeText.visible("a\u{1B}[2J\r\nb\u{9B}c") == "a[2Jbc")
    }
}
