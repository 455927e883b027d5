import CommandLanguage
import FixtureServer
import Foundation
import Testing

@testable import Fireweed
@testable import FireweedCLI

@Suite("The command and curl", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CURLCommandTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    private func run(_ arguments: [String], program: URL? = nil) throws -> (output: String, errors: String, code: Int32)
    {
        let process = Process()
        process.executableURL = program ?? Bundle.main.bundleURL.appendingPathComponent("fireweed")
        process.arguments = arguments
        process.currentDirectoryURL = folder.url
        process.standardInput = FileHandle.nullDevice
        let (output, errors) = (Pipe.closedOnExec(), Pipe.closedOnExec())
        process.standardOutput = output
        process.standardError = errors
        try process.start()
        let text = String(decoding: output.fileHandleForReading.contentToEnd(), as: UTF8.self)
        let said = String(decoding: errors.fileHandleForReading.contentToEnd(), as: UTF8.self)
        process.waitUntilExit()
        return (text, said, process.terminationStatus)
    }

    private func url(_ path: String = "/anything") -> String { server.url(path).absoluteString }

    @Test(
        "the command and URLRequest(cURL:) read an option of curl with the same letter, and both with a value or without"
    )
    func tables() {
        // `-N` is `--no-buffer`, which the command reads as the opposite of `--buffer`.
        for option in CURLOption.all where option.name != "no-buffer" {
            let row = CURLRow.all.first { $0.name == option.name }
            #expect(row.map(\.letter) == option.letter || option.name == "buffer", "\(option.name)")
            #expect(row?.takesValue == option.meaning.takesValue, "\(option.name)")
        }
    }

    @Test(
        "--curl prints what a shell then sends, and sends nothing itself",
        arguments: [
            ["q==a b"], ["name=it's!", "age:=1"], ["--form", "a=b c"], ["--form", "f@file.bin"],
            ["--raw", "$HOME `x`"], ["X-A:b"],
        ])
    func prints(items: [String]) throws {
        try Data([0, 255, 10]).write(to: folder.file("file.bin"))
        let arguments = items.filter { $0.hasPrefix("--") } + (items.contains("--raw") ? ["$HOME `x`"] : []) + [url()]
        let rest = items.filter { !$0.hasPrefix("--") && $0 != "$HOME `x`" }
        let printed = try run(["--curl"] + arguments + rest)
        #expect(printed.code == 0 && printed.errors.isEmpty && printed.output.contains("curl -v \\\n"))
        #expect(server.requests.isEmpty)
        #expect(try run(arguments + rest).code == 0)
        #expect(try run(["-c", printed.output], program: URL(fileURLWithPath: "/bin/sh")).code == 0)
        #expect(server.requests.count == 2)
        let (ours, theirs) = (server.requests[0], server.requests[1])
        #expect(ours.method == theirs.method && ours.target == theirs.target)
        if items != ["--form", "f@file.bin"] { #expect(ours.body == theirs.body) }  // its boundary is another one
        #expect(ours.bodyByteCount == theirs.bodyByteCount)
        #expect(Set(ours.fields.map(\.name)) == Set(theirs.fields.map(\.name)))
    }

    @Test("--from-curl sends what the command says")
    func sends() throws {
        try Data("from a file".utf8).write(to: folder.file("data"))
        let result = try run(["--from-curl", "curl -X PUT '\(url())?q=1' -H 'X-A: b' -d @data --compressed"])
        #expect(result.code == 0, "\(result.errors)")
        let request = try #require(server.requests.last)
        #expect(request.method == "PUT" && request.target == "/anything?q=1" && request.field("X-A") == "b")
        #expect(request.body == Data("from a file".utf8))
        #expect(result.output.contains("from a file"))
    }

    @Test(
        "--from-curl sends the user of a URL at once, and with --anyauth after a challenge",
        arguments: [
            ("", "/get", ["Basic"]), ("--anyauth", "/get", [nil]), ("", "/basic-auth/us/p:w", ["Basic"]),
            ("--anyauth", "/basic-auth/us/p:w", [nil, "Basic"]),
            ("--anyauth", "/digest-auth/auth/us/p:w", [nil, "Digest"]),
        ] as [(String, String, [String?])])
    func userOfURL(option: String, path: String, schemes: [String?]) throws {
        let target = url(path).replacing("http://", with: "http://us:p%3Aw@")
        let result = try run(["--check-status", "--from-curl", "curl \(option) '\(target)'"])
        #expect(result.code == 0, "\(result.errors)")
        let sent = server.requests.map { $0.field("Authorization").map { String($0.prefix { $0 != " " }) } }
        #expect(sent == schemes)
        let basic = Data("us:p:w".utf8).base64EncodedString()
        let answers = server.requests.compactMap { $0.field("Authorization") }.filter { $0.hasPrefix("Basic") }
        #expect(answers.allSatisfy { $0 == "Basic \(basic)" })
        #expect(server.requests.allSatisfy { !($0.field("Host") ?? "").contains("@") })
    }

    @Test("--from-curl does what the command says about files, output, redirects, proxies and uploads")
    func exchange() throws {
        try Data("uploaded".utf8).write(to: folder.file("up"))
        let saved = try run(["--from-curl", "curl -s -o out \(url("/status/404"))"])
        #expect(saved.code == 0 && FileManager.default.fileExists(atPath: folder.file("out").path), "\(saved.errors)")
        #expect(try run(["--from-curl", "curl -i \(url())"]).output.hasPrefix("HTTP/1.1 200 OK\r\n"))
        let verbose = try run(["--from-curl", "curl -sv \(url())"])
        #expect(verbose.errors.hasPrefix("GET /anything HTTP/1.1\n") && verbose.errors.contains("\nHTTP/1.1 200 OK\n"))
        #expect(verbose.output.hasPrefix("{"), "\(verbose.output)")
        let own = try run(["--print=HB", "--from-curl", "curl -sv -d x=1 \(url())"])
        #expect(own.errors.isEmpty && own.output.hasPrefix("POST /anything HTTP/1.1\n"), "\(own.errors)")
        let offline = try run(["--offline", "--from-curl", "curl -sv -d x=1 \(url())"])
        #expect(offline.errors.isEmpty && offline.output.contains("\n\nx=1"), "\(offline.output)")
        let named = try run(["--from-curl", "curl -sOJ -w '%{filename_effective}' \(url("/bytes/3"))"])
        #expect(named.output == "3", "\(named.output)\(named.errors)")
        for both in ["-v -i", "-i -v"] {
            let shown = try run(["--from-curl", "curl \(both) \(url())"])
            #expect(shown.errors.hasPrefix("GET /anything HTTP/1.1\n"), "\(shown.errors)")
            #expect(shown.output.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(shown.output)")
        }
        let moved = url("/redirect/1")
        #expect(try run(["--print=h", "--from-curl", "curl \(moved)"]).output.hasPrefix("HTTP/1.1 302"))
        #expect(try run(["--print=h", "--from-curl", "curl -L \(moved)"]).output.hasPrefix("HTTP/1.1 200"))
        #expect(try run(["--print=h", "--follow", "--from-curl", "curl \(moved)"]).output.hasPrefix("HTTP/1.1 200"))
        #expect(try run(["--from-curl", "curl -x http://127.0.0.1:1 \(url())"]).code == 6)
        #expect(try run(["--from-curl", "curl -f \(url("/status/404"))"]).code == 4)
        #expect(try run(["--from-curl", "curl -T up \(url("/anything/"))"]).output.contains("\"PUT\""))
        let request = try #require(server.requests.last)
        #expect(request.target == "/anything/up" && request.body == Data("uploaded".utf8))
        #expect(try run(["--print=H", "--from-curl", "curl -T up \(url("?a=/"))"]).output.hasPrefix("PUT /up?a=/ "))
        let removed = try run(["--print=H", "--from-curl", "curl -H 'Accept:' -H 'Accept-Encoding:' \(url())"]).output
        #expect(!removed.contains("Accept"))
        #expect(try run(["--from-curl", "curl --connect-timeout soon \(url())"]).code == 64)
        #expect(try run(["--from-curl", "curl -T up -d a \(url())"]).code == 64)
    }

    @Test("--curl has the options of the connection and of TLS")
    func options() throws {
        let printed = try run([
            "--curl", "-a", "u:p", "-k", "-x", "http://p.example:8080", "--noproxy", "h.example,x", "--tls-max", "1.3",
            "--max-time", "3", "--no-follow", "--http1.1", "--resolve", "h.example:127.0.0.1", "--unix-socket", "/s p",
            "-4", "--interface", "lo", "--limit-rate", "2K", "--connect-to", "h.example::x:1", "--proto", "=https",
            "--proxytunnel", "--proxy-auth-type", "any",
            "--pin", "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "https://h.example", "Accept:",
        ]).output
        for part in [
            "-u u:p", "-k", "-x http://p.example:8080", "--noproxy h.example,x", "--tls-max 1.3", "-m 3.0", "--http1.1",
            "--resolve h.example:443:127.0.0.1", "--unix-socket '/s p'", "--pinnedpubkey sha256//47", "-H Accept: ",
            "-4", "--interface lo", "--limit-rate 2048", "--connect-to h.example::x:1", "--proto =https",
            "\t-p ", "--proxy-anyauth",
        ] { #expect(printed.contains(part), "\(part) in \(printed)") }
        #expect(!printed.contains("\t-L "))
        #expect(try !run(["--curl", "--offline", "h.example"]).output.contains("--unix-socket"))
        #expect(try run(["--curl", "h.example"]).output.contains("-L \\\n\t--max-redirs 20"))
    }

    @Test("after a 303 the printed command sends GET too; where it cannot, that is said")
    func seeOther() throws {
        server.route("/303") { _ in FixtureResponse(status: 303, fields: [("Location", "/anything")]) }
        let printed = try run(["--curl", url("/303"), "a=b"])
        #expect(printed.errors.isEmpty && !printed.output.contains("-X"), "\(printed.output)")
        #expect(try run(["-c", printed.output], program: URL(fileURLWithPath: "/bin/sh")).code == 0)
        #expect(server.requests.map(\.method) == ["POST", "GET"])
        let put = try run(["--curl", "PUT", url("/303"), "a=b"])
        #expect(put.code == 0 && put.errors.contains("curl repeats PUT"), "\(put.errors)")
        #expect(try run(["--curl", "--no-follow", "PUT", url("/303"), "a=b"]).errors.isEmpty)
        server.route("/302") { _ in FixtureResponse(status: 302, fields: [("Location", "/anything")]) }
        let moved = try run(["--curl", "PUT", url("/302"), "a=b"]).output
        #expect(try run(["-c", moved], program: URL(fileURLWithPath: "/bin/sh")).code == 0)
        #expect(server.requests.last?.method == "PUT" && server.requests.last?.body.isEmpty == false)
    }

    @Test("--from-curl takes routes, addresses, rates and schemes over, and the user of a proxy")
    func routes() throws {
        let away = "http://a.test/anything"
        let route = "--connect-to a.test:80:127.0.0.1:\(server.port)"
        for options in [route, "\(route) -4", "\(route) --interface lo --limit-rate 1M --proto =http"] {
            #expect(try run(["--from-curl", "curl \(options) \(away)"]).code == 0, "\(options)")
        }
        #expect(try run(["--from-curl", "curl \(route) -6 \(away)"]).code == 6)
        #expect(try run(["--from-curl", "curl \(route) --proto =https \(away)"]).code == 64)
        #expect(try run(["--from-curl", "curl \(route) --fail-with-body http://a.test/status/404"]).code == 4)
        let proxy = try HTTPProxyServer(user: "user", password: "secret")
        let through = "curl -x http://127.0.0.1:\(proxy.port) -U user:secret \(url())"
        #expect(try run(["--check-status", "--from-curl", through]).code == 0)
        #expect(proxy.requests.count == 1)
    }

    @Test("there and back: --from-curl with --curl prints the command anew")
    func both() throws {
        let printed = try run(["--curl", "--from-curl", "curl \(url()) -d 'a=b'"])
        #expect(printed.code == 0 && printed.output.contains("-d \"a=b\"") && server.requests.isEmpty)
    }

    @Test(
        "what is not understood is wrong usage, in one line that names it",
        arguments: [
            (["--from-curl", "curl --frob h.example"], "--frob"), (["--from-curl", "wget h.example"], "wget"),
            (["--from-curl", "curl 'h.example"], "quote"), (["--from-curl", "curl h.example -d @none"], "none"),
            (["--from-curl", "curl h.example", "h.example"], "--from-curl"), (["--from-curl"], "COMMAND"),
            (["--from-curl", "curl h.example", "--raw", "x"], "--raw"),
            (["--curl", "--download", "h.example"], "--download"),
        ])
    func errors(arguments: [String], part: String) throws {
        let result = try run(arguments)
        #expect(result.code == 64 && result.output.isEmpty)
        #expect(result.errors.contains(part) && result.errors.count { $0 == "\n" } == 1, "\(result.errors)")
    }

    @Test("a time-out of the command is kept")
    func timeout() throws {
        #expect(try run(["--from-curl", "curl -m 0.2 \(url("/delay/600"))"]).code == 2)
    }
}
