import FixtureServer
import Foundation
import Testing

@testable import FireweedCLI

@Suite("Options of the connection", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ConnectionOptionTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    private func run(_ arguments: String...) throws -> CommandResult {
        try Command.run(arguments, in: folder.url)
    }

    private func text(_ result: CommandResult) -> String { String(decoding: result.output, as: UTF8.self) }

    @Test("a version of IP, an interface and a route choose the connection")
    func route() throws {
        let port = server.port
        let local = "http://localhost:\(port)/get"
        #expect(try run("-4", "--check-status", local).code == 0)
        #expect(try run("-6", "--check-status", local).code == 6)
        #expect(try run("-4", "--ipv6", "--check-status", local).code == 6)
        let far = try run("--interface", "127.0.0.9", "-q", "-w", "%{local_ip}", local)
        #expect(far.code == 0 && text(far) == "127.0.0.9", "\(far.errors)")
        let nowhere = try run("--interface", "nowhere0", local)
        #expect(nowhere.code == 6 && nowhere.errors.contains("nowhere0"), "\(nowhere.errors)")
        let led = try run("--connect-to", "a.test:80:127.0.0.1:\(port)", "--print=H", "http://a.test/get")
        #expect(led.code == 0 && text(led).contains("\nHost: a.test\n"), "\(led.errors)")
        for wrong in ["a.test:80:127.0.0.1", "a:x:b:1", "a:1:b:99999"] {
            #expect(try run("--connect-to", wrong, local).code == 64, "\(wrong)")
        }
    }

    /// A lower bound of time holds on a machine of any load.
    @Test("--limit-rate bounds how fast content comes and goes")
    func rate() throws {
        let start = ContinuousClock.now
        let result = try run("--limit-rate", "256K", server.url("/bytes/524288").absoluteString)
        #expect(result.code == 0 && result.output.count == 524_288)
        #expect(ContinuousClock.now - start > .seconds(1))
    }

    @Test(
        "speeds have curl's suffixes",
        arguments: [
            ("100", 100), ("2k", 2048), ("2K", 2048), ("1.5M", 1_572_864), ("1g", 1_073_741_824), ("7b", 7),
            ("0", nil), ("", nil), ("k", nil), ("-1", nil), ("1e3", nil), ("1kk", nil), ("nan", nil), ("1 k", nil),
            ("99999999999999999999", nil),
        ])
    func speeds(text: String, count: Int?) {
        #expect(Option.byteCount(text) == count)
    }

    @Test("--proto refuses schemes, of redirects too")
    func schemes() throws {
        let refused = try run("--proto", "=https", server.url("/get").absoluteString)
        #expect(refused.code == 64 && refused.errors.contains("http may not be sent"), "\(refused.errors)")
        let away = server.url("/redirect-to?url=https://127.0.0.1:1/").absoluteString
        let stopped = try run("--proto", "=http", away)
        #expect(stopped.code == 1 && stopped.output.isEmpty, "\(stopped.errors)")
        #expect(stopped.errors.contains("https://127.0.0.1:1/ may not be followed (--proto)"), "\(stopped.errors)")
        #expect(try run("--proto", "=http", "--no-follow", away).code == 0)
        #expect(try run("--proto", "=http", server.url("/redirect/2").absoluteString).code == 0)
        #expect(server.requests.count == 5)
    }

    @Test(
        "lists of schemes are read as curl reads them",
        arguments: [
            ("=https", ["https"]), ("-http", ["https"]), ("http", ["http", "https"]),
            ("=http,+https", ["http", "https"]),
            ("-all,https", ["https"]), ("=ftp", []), ("all,-https", ["http"]), ("=HTTPS", ["https"]),
            ("", nil), ("=", nil), ("http,,https", nil), ("=http s", nil),
        ] as [(String, Set<String>?)])
    func lists(text: String, schemes: Set<String>?) {
        #expect(Option.schemes(text) == schemes)
    }

    @Test("SOCKS 4 proxies can be used, with a name or an address")
    func socksFour() throws {
        let proxy = try SOCKSProxyServer()
        let url = "http://localhost:\(server.port)/get"
        for scheme in ["socks4", "socks4a"] {
            #expect(try run("-x", "\(scheme)://127.0.0.1:\(proxy.port)", "--check-status", url).code == 0)
        }
        #expect(proxy.requests == ["4  127.0.0.1", "4a  localhost"])
    }

    @Test("--fail-with-body saves and prints the content, and fails with the status")
    func failWithBody() throws {
        server.route("/sorry") { _ in .text("sorry", status: 503) }
        let url = server.url("/sorry").absoluteString
        let printed = try run("--fail-with-body", url)
        #expect(printed.code == 5 && text(printed) == "sorry", "\(printed.errors)")
        let saved = try run("--fail-with-body", "-o", "file", url)
        #expect(saved.code == 5, "\(saved.errors)")
        #expect(try String(contentsOf: folder.file("file"), encoding: .utf8) == "sorry")
        #expect(try run("--fail-with-body", server.url("/get").absoluteString).code == 0)
    }
}
