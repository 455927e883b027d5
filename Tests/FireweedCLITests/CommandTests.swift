import CommandLanguage
import FixtureServer
import Foundation
import Testing

@Suite("The command as it is run", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CommandTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    private func run(
        _ arguments: String..., input: String? = nil, environment: [String: String] = [:]
    ) throws -> CommandResult {
        try Command.run(arguments, in: folder.url, input: input, environment: environment)
    }

    @Test("in a pipe, the content alone comes out, byte for byte")
    func pipe() async throws {
        let url = server.url("/bytes/100000").absoluteString
        let result = try run(url)
        let direct = try Data(contentsOf: server.url("/bytes/100000"))
        #expect(result.output == direct && result.errors.isEmpty && result.code == 0)
    }

    @Test("data items make a JSON POST; --form makes a form")
    func bodies() throws {
        let json = try run(server.url("/anything").absoluteString, "name=Ada", "age:=36", "X-A:1", "q==x")
        let object = try JSONSerialization.jsonObject(with: json.output) as? [String: Any]
        #expect(object?["method"] as? String == "POST")
        #expect(object?["data"] as? String == #"{"name": "Ada", "age": 36}"#)
        #expect(object?["args"] as? [String: String] == ["q": "x"])
        let form = try run("--form", server.url("/anything").absoluteString, "a=b c")
        let fields = (try JSONSerialization.jsonObject(with: form.output) as? [String: Any])?["form"]
        #expect(fields as? [String: String] == ["a": "b c"])
    }

    @Test("standard input is the content of a POST")
    func standardInput() throws {
        let result = try run("POST", server.url("/anything").absoluteString, input: "{\"x\":1}")
        let object = try JSONSerialization.jsonObject(with: result.output) as? [String: Any]
        #expect(object?["data"] as? String == "{\"x\":1}")
    }

    @Test("a download is named by the URL, and never overwrites")
    func download() throws {
        let url = server.url("/bytes/1234").absoluteString
        #expect(try run("--download", url).code == 0)
        #expect(try run("--download", url).code == 0)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
        #expect(files == ["1234", "1234-1"])
    }

    @Test(
        "a word that is not UTF-8, and a URL with a line break, are errors, and nothing is sent or written",
        arguments: [
            (#"exec "$0" -o "$(printf 'x\377')" 127.0.0.1:1"#, "argument 2 is not UTF-8"),
            (
                #"exec "$0" "$(printf 'http://u:p@127.0.0.1:1/a\rb')""#,
                #"fireweed: "http://127.0.0.1:1/a\rb" has a control"#
            ),
        ])
    func malformedWords(script: String, message: String) throws {
        let result = try Command.run(script: script, in: folder.url)
        #expect(result.code == 64 && result.errors.contains(message), "\(result.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
    }

    @Test("exit codes tell failures apart")
    func exitCodes() throws {
        #expect(try run(server.url("/status/404").absoluteString).code == 0)
        #expect(try run("--check-status", server.url("/status/404").absoluteString).code == 4)
        #expect(try run("--check-status", server.url("/status/503").absoluteString).code == 5)
        #expect(try run("--check-status", "--no-follow", server.url("/redirect/1").absoluteString).code == 3)
        #expect(try run("--timeout", "0.2", server.url("/delay/600").absoluteString).code == 2)
        let refused = try run("http://127.0.0.1:1/")
        #expect(refused.code == 6 && refused.errors.hasPrefix("fireweed: ") && refused.errors.count { $0 == "\n" } == 1)
        #expect(try run("--nonsense").code == 64)
    }

    @Test("--cache keeps responses between runs, and -v tells hit, revalidated and miss")
    func cache() throws {
        server.route("/stale") { request in
            let isSame = request.field("If-None-Match") == "\"a\""
            return FixtureResponse(
                status: isSame ? 304 : 200, fields: [("ETag", "\"a\""), ("Cache-Control", "no-cache")],
                body: .data(Data((isSame ? "" : "text").utf8)))
        }
        let environment = ["XDG_CACHE_HOME": folder.url.path]
        func notes(_ path: String) throws -> [String] {
            try (0..<2).map { _ in
                let result = try run("-v", "--cache", server.url(path).absoluteString, environment: environment)
                #expect(result.code == 0)
                return result.errors
            }
        }
        #expect(try notes("/cache/1000") == ["* cache: miss\n", "* cache: hit\n"])
        #expect(try notes("/stale") == ["* cache: miss\n", "* cache: hit, revalidated\n"])
        #expect(server.requests.map(\.path) == ["/cache/1000", "/stale", "/stale"])
        let mode = try FileManager.default.attributesOfItem(atPath: folder.file("fireweed/responses.sqlite").path)
        #expect((mode[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        _ = try run(server.url("/cache/1000").absoluteString, environment: environment)
        #expect(server.requests.count == 4)  // without the option, nothing is looked for
    }

    @Test("a cache that cannot be used is left out, with a word")
    func unusableCache() throws {
        try Data().write(to: folder.file("file"))
        let environment = ["XDG_CACHE_HOME": folder.file("file").path]
        let result = try run("--cache", server.url("/cache/1000").absoluteString, environment: environment)
        #expect(result.code == 0 && result.errors.contains("cannot be used") && !result.output.isEmpty)
    }

    @Test("a private authority is refused with the code for TLS, and accepted with --cacert, over HTTP/2")
    func privateAuthority() throws {
        let authority = try CertificateAuthority()
        let nginx = try NginxServer(certificate: authority.issue())
        let url = try #require(nginx.secureURL).appendingPathComponent("small").absoluteString
        let refused = try run("GET", url)
        #expect(refused.code == 7 && refused.errors.contains("certificate"))
        let accepted = try run("GET", "--cacert", authority.certificate.path, "--print=hb", url)
        #expect(accepted.code == 0 && String(decoding: accepted.output, as: UTF8.self).hasPrefix("HTTP/2 200"))
        #expect(try run("GET", "--insecure", url).code == 0)
    }

    @Test("proxies are taken from the environment, and no_proxy excepts hosts")
    func environment() throws {
        let proxy = try SOCKSProxyServer()
        let address = "socks5h://127.0.0.1:\(proxy.port)"
        let url = server.url("/get").absoluteString
        for name in ["http_proxy", "all_proxy", "ALL_PROXY"] {
            let before = proxy.connectionCount
            #expect(try run(url, environment: [name: address]).code == 0)
            #expect(proxy.connectionCount == before + 1, "\(name)")
        }
        let count = proxy.connectionCount
        #expect(try run(url, environment: ["http_proxy": address, "no_proxy": "127.0.0.1"]).code == 0)
        #expect(proxy.connectionCount == count)
        // For https alone another variable counts.
        #expect(try run(url, environment: ["https_proxy": address]).code == 0)
        #expect(proxy.connectionCount == count)
        // What answers there does not speak TLS.
        let secure = url.replacingOccurrences(of: "http:", with: "https:")
        #expect(try run(secure, environment: ["https_proxy": address]).code != 0)
        #expect(proxy.connectionCount == count + 1)
    }
}
