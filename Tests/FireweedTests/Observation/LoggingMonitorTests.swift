import FixtureServer
import Foundation
import Testing

@testable import Fireweed

@Suite("Logging", .timeLimit(.minutes(Patience.minutes)))
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
        }
        #expect(lines.count == 5)
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

    @Test(
        "URLs lose their userinfo and the values of secret parameters",
        arguments: [
            ("https://u:p@h/x?a=1", "https://h/x?a=1"),
            ("https://h/?Access_Token=s&b=2#f", "https://h/?Access_Token=[redacted]&b=2#f"),
            ("https://h/?api%5Fkey=s", "https://h/?api%5Fkey=[redacted]"), ("https://h/?token", "https://h/?token"),
            ("https://h/?password=", "https://h/?password=[redacted]"),
            ("/relative?code=s", "/relative?code=[redacted]"),
            ("https://h/#token=s", "https://h/#token=s"),
        ])
    func urls(text: String, expected: String) {
        #expect(Redaction.standard.text(ofURL: text) == expected)
    }

    @Test(
        "fields lose their secrets, and keep the scheme of credentials",
        arguments: [
            ("Authorization", "Basic dTpw", "Basic [redacted]"), ("authorization", "secret", "[redacted]"),
            ("Cookie", "a=b", "[redacted]"), ("SET-COOKIE", "a=b", "[redacted]"), ("X-Api-Key", "k", "[redacted]"),
            ("Location", "https://u:p@h/?code=1", "https://h/?code=[redacted]"), ("Accept", "*/*", "*/*"),
        ])
    func fields(name: String, value: String, expected: String) {
        #expect(Redaction.standard.value(value, ofField: name) == expected)
        #expect(name == "Location" || Redaction.none.value(value, ofField: name) == value)
    }

    @Test(
        "forms and JSON lose the values of secret members, at any depth",
        arguments: [
            ("application/x-www-form-urlencoded", "user=u&password=p", "user=u&password=[redacted]"),
            ("application/json", #"{"a":[{"Token":"s","zone":1}]}"#, #"{"a":[{"Token":"[redacted]","zone":1}]}"#),
            ("application/json", #"{"b": 1.50}"#, #"{"b": 1.50}"#), ("application/json", "{broken", "{broken"),
            ("text/plain", "password=p", "password=p"),
        ])
    func content(type: String, text: String, expected: String) {
        let clean = Redaction.standard.content(Data(text.utf8), type: type)
        #expect(String(decoding: clean, as: UTF8.self) == expected)
    }
}
