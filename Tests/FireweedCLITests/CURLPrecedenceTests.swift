import FixtureServer
import Foundation
import Testing

@Suite("The command line beside --from-curl", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CURLPrecedenceTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    private func run(_ arguments: [String], _ environment: [String: String] = [:]) throws -> CommandResult {
        try Command.run(arguments, in: folder.url, environment: environment)
    }

    private func url(_ path: String) -> String { server.url(path).absoluteString }

    private func text(_ name: String) -> String? { try? String(contentsOf: folder.file(name), encoding: .utf8) }

    @Test("--output is one file for one response, and --download names each")
    func output() throws {
        for (name, text) in [("a", "first"), ("b", "second")] { server.route("/\(name)") { _ in .text(text) } }
        let (first, second) = (url("/a"), url("/b"))
        for command in ["curl \(first) \(second)", "curl \(first) --next \(second)", "curl '\(url("/"))[a-b]'"] {
            let refused = try run(["-o", "own", "--from-curl", command])
            #expect(refused.code == 64 && refused.errors.contains("--output is one file"), "\(command): \(refused)")
        }
        #expect(server.requests.isEmpty)
        let numbered = try run(["-o", "own-#1", "--from-curl", "curl -s '\(url("/"))[a-b]'"])
        #expect(numbered.code == 0 && text("own-a") == "first" && text("own-b") == "second", "\(numbered)")
        let named = try run(["-d", "--from-curl", "curl -s \(first) -o x --next \(second)"])
        #expect(named.code == 0 && named.output.isEmpty && text("x") == nil, "\(named)")
        #expect(Set([text("a.txt") ?? text("a"), text("b.txt") ?? text("b")]) == ["first", "second"])
        let nothing = try run(["-o", "/dev/null", "--from-curl", "curl -s \(first) \(second)"])
        #expect(nothing.code == 0 && nothing.output.isEmpty)
        let single = try run(["-o", "own", "--from-curl", "curl -s \(first) -o theirs"])
        #expect(single.code == 0 && text("own") == "first" && text("theirs") == nil, "\(single)")
    }

    @Test("--no-NAME takes an option of the command back")
    func cancellation() throws {
        let authority = try CertificateAuthority()
        let nginx = try NginxServer(certificate: try authority.issue(["DNS:localhost"]))
        let secure = try #require(nginx.secureURL).appendingPathComponent("small").absoluteString
        #expect(try run(["--from-curl", "curl -s -k \(secure)"]).code == 0)
        #expect(try run(["--no-insecure", "--from-curl", "curl -sS -k \(secure)"]).code == 7)
        let bare = try run(["--no-write-out", "--from-curl", "curl -s \(url("/robots.txt")) -w END"])
        #expect(bare.code == 0 && !String(decoding: bare.output, as: UTF8.self).contains("END"), "\(bare)")
        _ = try run(["--no-auth", "--from-curl", "curl -s -u a:b \(url("/get"))"])
        #expect(server.requests.last?.field("Authorization") == nil)
        let odd = try run(["--no-timing", "--from-curl", "curl \(url("/get"))"])
        #expect(odd.code == 64 && odd.errors.contains("--no-timing takes back nothing of a curl command"), "\(odd)")
        #expect(try run(["--timing", "--no-timing", "--from-curl", "curl -s \(url("/get"))"]).code == 0)
    }

    @Test("user and password replace a token, and keep another scheme")
    func credentials() throws {
        _ = try run(["-a", "new:pw", "--from-curl", "curl -s --oauth2-bearer old \(url("/get"))"])
        #expect(server.requests.last?.field("Authorization") == "Basic bmV3OnB3")
        let digest = try run(
            ["-a", "u:p", "--from-curl", "curl -s --digest -u x:y \(url("/digest-auth/auth/u/p"))", "-v"])
        #expect(digest.code == 0, "\(digest)")
    }

    @Test("options that belong to another one may stand alone, as in curl")
    func loneOptions() throws {
        for options in ["--retry-delay 1", "--key x", "--pass x", "--retry-max-time 2"] {
            let result = try run(["--from-curl", "curl -s \(options) \(url("/get"))"])
            #expect(result.code == 0, "\(options): \(result)")
        }
        let without = try run(["--no-retry", "--from-curl", "curl -s --retry 3 --retry-delay 2 \(url("/status/503"))"])
        #expect(without.code == 0 && server.requests.count == 5, "\(without)")
    }

    @Test("a POST of a curl command is sent again by the command's own --retry alone, and after no lost connection")
    func retriedPOST() throws {
        try Data("--retry 2\n--retry-delay 0.01\n".utf8).write(to: folder.file("config"))
        let environment = ["FIREWEED_CONFIG": folder.file("config").path]
        server.route("/busy") { _ in .text("", status: 503) }
        _ = try run(["--from-curl", "curl -s -d a=1 \(url("/busy"))"], environment)
        #expect(server.requests.count == 1)
        _ = try run(["--retry", "2", "--from-curl", "curl -s --retry 1 -d a=1 \(url("/busy"))"], environment)
        #expect(server.requests.count == 2)
        _ = try run(["--from-curl", "curl -s --retry 1 -d a=1 \(url("/busy"))"], environment)
        #expect(server.requests.count == 4)
        for (data, code) in [("-d a=1", 6), ("", 0)] as [(String, Int32)] {
            let lost = try ScriptedServer.start(
                [.receiveHead, .close],
                [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), .close])
            let address = "http://127.0.0.1:\(lost.port)/"
            let result = try run(["--from-curl", "curl -s --retry 1 \(data) \(address)"], environment)
            #expect(result.code == code && result.errors.isEmpty, "\(data): \(result)")
        }
    }

    @Test("the scheme of the configuration file's credentials is not that of a command's")
    func configuredScheme() throws {
        try Data("--auth-type bearer\n".utf8).write(to: folder.file("config"))
        let environment = ["FIREWEED_CONFIG": folder.file("config").path]
        for command in ["curl -s -u u:p \(url("/get"))", "curl -s \(url("/get").replacing("://", with: "://u:p@"))"] {
            _ = try run(["--from-curl", command], environment)
            #expect(server.requests.last?.field("Authorization") == "Basic dTpw", "\(command)")
        }
        _ = try run(["-A", "bearer", "--from-curl", "curl -s -u token \(url("/get"))"], environment)
        #expect(server.requests.last?.field("Authorization") == "Bearer token")
        try Data("--auth-type bearer\n--auth token\n".utf8).write(to: folder.file("config"))
        _ = try run(["--from-curl", "curl -s \(url("/get"))"], environment)
        #expect(server.requests.last?.field("Authorization") == "Bearer token")
    }

    @Test("CURL_CA_BUNDLE is read for a curl command, and goes behind --cacert and --insecure")
    func authorities() throws {
        let authority = try CertificateAuthority()
        let nginx = try NginxServer(certificate: try authority.issue(["DNS:localhost"]))
        let secure = try #require(nginx.secureURL).appendingPathComponent("small").absoluteString
        let right = ["CURL_CA_BUNDLE": authority.certificate.path]
        #expect(try run(["--from-curl", "curl -s \(secure)"], right).code == 0)
        #expect(try run([secure], right).code == 7)
        let other = try CertificateAuthority()
        let wrong = ["CURL_CA_BUNDLE": other.certificate.path]
        #expect(try run(["--from-curl", "curl -s \(secure)"], wrong).code == 7)
        #expect(try run(["--from-curl", "curl -s --cacert \(authority.certificate.path) \(secure)"], wrong).code == 0)
        #expect(try run(["--insecure", "--from-curl", "curl -s \(secure)"], wrong).code == 0)
        withExtendedLifetime((authority, other, nginx)) {}
    }

    @Test("--continue is for a curl command too")
    func continued() throws {
        let result = try run(["-c", "--from-curl", "curl -s \(url("/range/100"))"])
        #expect(result.code == 0 && text("100")?.count == 100, "\(result)")
    }

    @Test(
        "characters that look like nothing are named",
        arguments: [("\u{FEFF}curl -s ", "U+FEFF"), ("curl\u{A0}-s ", "U+A0"), ("curl \u{200B}", "U+200B")])
    func invisible(start: String, name: String) throws {
        let result = try run(["--from-curl", start + url("/get")])
        #expect(result.code == 64 && result.errors.contains("an invisible character, \(name)"), "\(result)")
        #expect(try run(["--from-curl", "curl -s '\(url("/get?a="))\u{A0}'"]).code == 0)
    }

    @Test("a code fence may be indented")
    func fence() throws {
        #expect(try run(["--from-curl", "```sh\n  curl -s \(url("/get"))\n  ```"]).code == 0)
    }

    @Test("the name of a command in front of a URL is not looked up", arguments: ["curl", "http", "wget"])
    func commandName(name: String) throws {
        let result = try run([name, url("/get")])
        #expect(result.code == 64 && result.errors.contains("\"\(name)\" is a command, and no URL"), "\(result)")
    }
}
