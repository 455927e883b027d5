import FixtureServer
import Foundation
import Glibc
import Testing

@Suite("Options for scripts, and messages", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CheckTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    private func run(_ arguments: String..., environment: [String: String] = [:]) throws -> CommandResult {
        try Command.run(arguments, in: folder.url, environment: environment)
    }

    private func text(_ result: CommandResult) -> String { String(decoding: result.output, as: UTF8.self) }

    @Test(
        "--offline refuses to print a response alone, which there is not",
        arguments: ["-b", "-h", "--meta", "--print=hb"])
    func offlineResponse(option: String) throws {
        let result = try run("--offline", option, "h.example")
        #expect(result.code == 64 && result.errors.contains("--offline sends nothing"), "\(result.errors)")
    }

    @Test("--expect ends with 5 and says what was found when something does not hold")
    func expect() throws {
        let url = server.url("/json").absoluteString
        let met = try run(
            "-q", url, "--expect", "status==200", "--expect", "json.slideshow.title==Sample", "--expect",
            "header.content-type~=json", "--expect", "time<60")
        #expect(met.code == 0 && met.output.isEmpty && met.errors.isEmpty, "\(met.errors)")
        let missed = try run("-q", url, "--expect", "status==404", "--expect", "json.slideshow.title==Other")
        #expect(missed.code == 5 && missed.errors.split(separator: "\n").count == 2, "\(missed.errors)")
        #expect(missed.errors.contains("expected status==404, but the status is 200"))
    }

    @Test("--select prints the part of the JSON at a path")
    func select() throws {
        let url = server.url("/json").absoluteString
        #expect(try text(run(url, "--select", ".slideshow.slides[].title")) == "Fireweed\n")
        let slide = try text(run(url, "--select", ".slideshow.slides[0]", "--pretty", "format", "--indent", "2"))
        #expect(slide.hasPrefix("{\n  \""), "\(slide)")
        let missing = try run(url, "--select", ".nothing")
        #expect(missing.code == 1 && missing.output.isEmpty && missing.errors.contains("nothing at .nothing"))
        #expect(try run(server.url("/html").absoluteString, "--select", "a").errors.contains("not JSON"))
    }

    @Test("--write-out has curl's variables")
    func writeOut() throws {
        let url = server.url("/redirect/1").absoluteString
        let result = try run("-q", url, "-w", #"%{http_code} %{num_redirects} %header{content-type} %{method}\n"#)
        #expect(text(result) == "200 1 application/json GET\n")
        #expect(text(try run("-q", "POST", url, "a=1", "-w", "%{method}")) == "GET")
        let refused = try run("-q", "http://127.0.0.1:1/", "-w", "%{http_code} %{exitcode}")
        #expect(text(refused) == "000 6")
        let format = ["-w", "%{exitcode} %{errormsg}"]
        let missing = server.url("/status/404").absoluteString
        let unsaved = try Command.run([missing, "-o", "file"] + format, in: folder.url)
        #expect(unsaved.code == 1 && text(unsaved) == "1 nothing was saved: the status is 404; --any-status saves it")
        let unmet = try Command.run(["-q", missing, "--expect", "status==200"] + format, in: folder.url)
        #expect(unmet.code == 5 && text(unmet) == "5 expected status==200, but the status is 404")
    }

    @Test("--quiet prints failures alone, and -m how long it took")
    func quiet() throws {
        #expect(try run("-q", server.url("/get").absoluteString).output.isEmpty)
        let saved = try run("-q", "-o", "file", server.url("/bytes/10").absoluteString)
        #expect(saved.errors.isEmpty && FileManager.default.fileExists(atPath: folder.file("file").path))
        #expect(try text(run("-m", server.url("/get").absoluteString)).contains(/^Elapsed time: [0-9]+\.[0-9]+/))
    }

    @Test("--check-status says the status, and a status of no class is a failure")
    func checkStatus() throws {
        let missing = try run("--check-status", server.url("/status/404").absoluteString)
        #expect(missing.code == 4 && missing.errors == "fireweed: the status is 404\n")
        let scripted = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n"), .close,
        ])
        #expect(try run("--check-status", scripted.url().absoluteString).code == 5)
    }

    @Test("a time-out says which one it was, and how long")
    func timeOuts() throws {
        let silent = try run("--timeout", "0.2", server.url("/delay/600").absoluteString)
        #expect(silent.code == 2 && silent.errors == "fireweed: nothing came for 0.2 s (--timeout)\n")
        let whole = try run("--max-time", "0.3", server.url("/drip?bytes=100&duration=100").absoluteString)
        #expect(whole.code == 2 && whole.errors.contains("longer than 0.3 s (--max-time)"), "\(whole.errors)")
    }

    @Test("standard error that cannot be written loses its texts, and nothing else")
    func fullErrors() throws {
        for (arguments, code) in [(["--check-status", "/status/404"], 4), (["-v", "--timing", "/get"], 0)] {
            let process = Process()
            process.executableURL = RunningCommand.program
            process.arguments = ["-I"] + arguments.map { $0.hasPrefix("/") ? server.url($0).absoluteString : $0 }
            process.standardOutput = FileHandle(forWritingAtPath: "/dev/null")
            process.standardError = FileHandle(forWritingAtPath: "/dev/full")
            try process.start()
            process.waitUntilExit()
            #expect(process.terminationStatus == code, "\(arguments)")
        }
    }

    @Test("standard output that cannot be written is an error that is said")
    func fullDevice() throws {
        let process = Process()
        process.executableURL = RunningCommand.program
        process.arguments = ["-I", server.url("/bytes/100000").absoluteString]
        process.standardOutput = FileHandle(forWritingAtPath: "/dev/full")
        let errors = Pipe.closedOnExec()
        process.standardError = errors
        try process.start()
        let said = String(decoding: errors.fileHandleForReading.contentToEnd(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 1 && said.contains("standard output cannot be written: No space left"))
    }

    @Test(
        "a failure is said in words that help",
        arguments: [
            (["https://127.0.0.1:PORT/"], 7, "does not speak TLS"), (["GET"], 64, "a URL is missing"),
            (["--cert", "/nope", "https://h.example"], 64, "the file /nope cannot be read: No such file"),
            (["--session", "x/", "http://127.0.0.1:PORT/"], 64, "needs a file"),
            (["--max-redirects", "1", "http://127.0.0.1:PORT/redirect/3"], 6, "did not end after 1 (--max-redirects)"),
            (
                ["http://127.0.0.1:PORT/redirect-to?url=myapp%3A%2F%2Fcallback%3Fcode%3D7"], 1,
                "a redirect leads to the scheme myapp, which is not HTTP (--no-follow --headers shows where)"
            ),
            (["ftp://h.example"], 64, "has the scheme ftp"), (["ht!tp://h"], 64, "has a scheme that is not one"),
            ([":abc"], 64, "a port or a path follows"), (["http://h:99999/"], 64, "not from 1 to 65535"),
            (["http://h:0/"], 64, "not from 1 to 65535"), (["serve", "99999"], 64, "a port is a number"),
            (["serve", "nowhere"], 1, "nowhere is not a folder"),
            (["serve", "PORT"], 1, "cannot listen on 127.0.0.1:"),
            (["--unix-socket", "/nope", "http://h/"], 6, "the socket /nope cannot be connected to"),
            (["--cert", "/etc/passwd", "https://h/"], 64, "/etc/passwd is damaged: there is no certificate in it"),
            (["-o", "/nope/x", "http://127.0.0.1:PORT/"], 1, "/nope/x"),
        ])
    func messages(arguments: [String], code: Int32, part: String) throws {
        let words = arguments.map { $0.replacing("PORT", with: "\(server.port)") }
        let result = try Command.run(words, in: folder.url)
        #expect(result.code == code && result.errors.contains(part), "\(result.errors)")
        #expect(result.errors.split(separator: "\n").count == 1)
    }

    @Test("a head that is too long is refused in words")
    func longHead() throws {
        let long = "HTTP/1.1 200 OK\r\nX-A: \(String(repeating: "a", count: 350_000))\r\n\r\n"
        let scripted = try ScriptedServer.start([.receiveHead, .send(long), .close])
        let result = try run(scripted.url().absoluteString)
        #expect(result.code == 6 && result.errors.contains("longer than the limit of 307200 bytes"), "\(result.errors)")
    }

    @Test("a handshake that hangs ends fireweed ws with the code for time-outs, however short its input is")
    func silentHandshake() throws {
        let scripted = try ScriptedServer.start([.receiveHead, .hold])
        let url = scripted.url().absoluteString.replacing("http:", with: "ws:")
        let result = try Command.run(["ws", "--timeout", "0.7", "--wait", "0", url], in: folder.url, input: "")
        #expect(result.code == 2 && result.errors.contains("nothing came for 0.7 s"), "\(result.errors)")
    }

    @Test("--no-follow takes a redirect to the scheme of an app as the response")
    func appRedirect() throws {
        let url = server.url("/redirect-to?url=myapp%3A%2F%2Fcallback%3Fcode%3D7").absoluteString
        let result = try run("--no-follow", "--headers", url)
        #expect(
            result.code == 0
                && String(decoding: result.output, as: UTF8.self).contains("Location: myapp://callback?code=7"),
            "\(result.errors)")
    }

    @Test("a redirect beyond the limit is an error, and its content is not printed")
    func redirectLimit() throws {
        server.route("/loop") { _ in
            FixtureResponse(status: 302, fields: [("Location", "/loop")], body: .data(Data("moved".utf8)))
        }
        let result = try run("--max-redirects", "2", server.url("/loop").absoluteString)
        #expect(result.code == 6 && result.output.isEmpty && result.errors.contains("redirect"), "\(result.errors)")
    }

    @Test(
        "a server that hangs up on a handshake may not speak TLS, and the message says so",
        arguments: [[ScriptedServer.Action.shutdownWrite, .hold], [.receive(byteCount: 1), .reset]])
    func handshake(script: [ScriptedServer.Action]) throws {
        let scripted = try ScriptedServer.start(script)
        let result = try run(scripted.url().absoluteString.replacing("http:", with: "https:"))
        #expect(result.code == 7 && result.errors.contains("perhaps it does not speak TLS"), "\(result.errors)")
    }

    @Test("options of the configuration file hold where the command line has no others")
    func configuration() throws {
        try Data("# defaults\n--print h\n--check-status\n--binary\n".utf8).write(to: folder.file("config"))
        let environment = ["FIREWEED_CONFIG": folder.file("config").path]
        let url = server.url("/status/404").absoluteString
        let result = try run(url, environment: environment)
        #expect(result.code == 4 && text(result).hasPrefix("HTTP/1.1 404"), "\(result.errors)")
        #expect(try run("--no-check-status", url, environment: environment).code == 0)
        try Data("http://evil.example\n".utf8).write(to: folder.file("config"))
        #expect(try run(url, environment: environment).code == 64)
    }

    @Test("an unexpected status decides the exit code, even if --select finds nothing in its content")
    func selectionOfFailure() throws {
        let url = server.url("/status/404").absoluteString
        for (options, code) in [
            (["--check-status"], 4), (["--fail-with-body"], 4), (["--expect", "status==200"], 5), ([], 1),
        ] as [([String], Int32)] {
            let result = try Command.run(options + ["--select", ".data", url], in: folder.url)
            #expect(result.code == code, "\(options)")
        }
    }

    @Test("options of the configuration file that do not go with the command line are left out")
    func leftOutConfiguration() throws {
        let environment = ["FIREWEED_CONFIG": folder.file("config").path]
        try Data("-d\n--auth a:b\n--raw x\n--check-status\n".utf8).write(to: folder.file("config"))
        let port = server.port
        let selected = try run("--select", ".method", server.url("/anything").absoluteString, environment: environment)
        #expect(selected.code == 0 && text(selected).contains("POST"), "\(selected.errors)")
        #expect(try run("http://127.0.0.1:\(port)/anything", "n=1", environment: environment).code == 0)
        let fields = ["a:b", "c:d"].map { "Basic \(Data($0.utf8).base64EncodedString())" }
        #expect(server.requests.last?.field("Authorization") == fields[0])
        #expect(server.requests.last?.body == Data(#"{"n": "1"}"#.utf8))
        #expect(try run("http://c:d@127.0.0.1:\(port)/anything", environment: environment).code == 0)
        #expect(server.requests.last?.field("Authorization") == fields[1])
        // An error is an error, whatever goes with it.
        try Data("-d\n--timeout soon\n".utf8).write(to: folder.file("config"))
        let wrong = try run("--select", ".a", "http://127.0.0.1:\(port)/get", environment: environment)
        #expect(wrong.code == 64 && wrong.errors.contains("line 2: --timeout"), "\(wrong.errors)")
    }

    @Test(
        "an error in the configuration file names the file and the line",
        arguments: [
            ("--style light\n\n--frob 3\n", 3, "there is no option --frob"),
            ("# mine\n--timeout soon\n", 2, "--timeout needs a number"), ("GET\n", 1, "only options can stand here"),
            ("--timeout\n", 1, "--timeout needs a value"), ("--verbose yes\n", 1, "--verbose takes no value"),
        ])
    func faultyConfiguration(text: String, line: Int, complaint: String) throws {
        let file = folder.file("config")
        try Data(text.utf8).write(to: file)
        let result = try run(server.url("/get").absoluteString, environment: ["FIREWEED_CONFIG": file.path])
        #expect(result.code == 64 && result.errors.hasPrefix("fireweed: \(file.path), line \(line): \(complaint)"))
        #expect(result.errors.count { $0 == "\n" } == 1, "\(result.errors)")
        #expect(server.requests.isEmpty)
    }

    @Test("an empty configuration, a device and no file have no options, and what cannot be read is an error")
    func emptyConfiguration() throws {
        let url = server.url("/get").absoluteString
        for path in ["/dev/null", "", folder.file("none").path] {
            let result = try run(url, environment: ["FIREWEED_CONFIG": path])
            #expect(result.code == 0 && result.errors.isEmpty, "\(path): \(result.errors)")
        }
        let refused = try run(url, environment: ["FIREWEED_CONFIG": folder.url.path])
        #expect(refused.code == 64 && refused.errors.hasSuffix("cannot be read: Is a directory\n"), "\(refused.errors)")
    }

    @Test("--remote-time gives a file the server's time")
    func remoteTime() throws {
        server.route("/dated") { _ in
            .text("x", fields: [("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT")])
        }
        #expect(try run("--remote-time", "-o", "file", server.url("/dated").absoluteString).code == 0)
        let date =
            try FileManager.default.attributesOfItem(atPath: folder.file("file").path)[.modificationDate] as? Date
        #expect(date?.timeIntervalSince1970 == 1_445_412_480)
    }

    @Test("a download asks for identity, and a limit of expansion can be set")
    func expansion() throws {
        #expect(try run("-d", server.url("/bytes/10").absoluteString).code == 0)
        #expect(server.requests.last?.field("Accept-Encoding") == "identity")
        #expect(try run("-o", "f", server.url("/bytes/10").absoluteString, "Accept-Encoding:gzip").code == 0)
        #expect(server.requests.last?.field("Accept-Encoding") == "gzip")
        #expect(try run("--max-expansion", "0", server.url("/get").absoluteString).code == 64)
        // Zeros are compressed to a thousandth.
        let zeros = try #require(CodingEndpoints.gzip(Data(count: 48 << 20)))
        server.route("/zeros") { _ in
            FixtureResponse(fields: [("Content-Encoding", "gzip")], body: .data(zeros))
        }
        let refused = try run(server.url("/zeros").absoluteString)
        #expect(refused.code == 6 && refused.errors.contains("(--max-expansion)"), "\(refused.errors)")
        #expect(try run("--max-expansion", "5000", server.url("/zeros").absoluteString).code == 0)
        // What goes to a file is not expanded.
        #expect(try run("-o", "zeros", server.url("/zeros").absoluteString).code == 0)
    }

    @Test("a name of a download never begins with a dash")
    func dashes() throws {
        server.route("/x") { _ in
            .text("x", fields: [("Content-Disposition", "attachment; filename=\"-rf\"")])
        }
        #expect(try run("-d", server.url("/x").absoluteString).code == 0)
        #expect(FileManager.default.fileExists(atPath: folder.file("_rf").path))
    }

    @Test("--unix-socket, --resolve and --noproxy choose what is connected to")
    func connections() throws {
        let socket = try FixtureServer.start(unixSocketPath: folder.file("s").path)
        #expect(try run("--unix-socket", folder.file("s").path, "http://any.example/get").code == 0)
        #expect(socket.requests.count == 1)
        let url = "http://any.example:\(server.port)/get"
        #expect(try run("--resolve", "any.example:127.0.0.1", url).code == 0)
        #expect(try run("--resolve", "any.example:\(server.port):127.0.0.1", url).code == 0)
        let own = server.url("/get").absoluteString
        #expect(try run("--noproxy", "*", own, environment: ["http_proxy": "http://127.0.0.1:1"]).code == 0)
        #expect(try run("--proxy", "http://127.0.0.1:1", "--noproxy", "127.0.0.1", own).code == 0)
        #expect(try run("--proxy", "http://127.0.0.1:1", own).code == 6)
    }

    @Test("a proxy can be for one scheme alone")
    func schemeProxies() throws {
        let url = server.url("/get").absoluteString
        #expect(try run("--proxy", "http:http://127.0.0.1:1", url).code == 6)
        #expect(try run("--proxy", "https:http://127.0.0.1:1", url).code == 0)
        #expect(try run("--proxy", "http:socks5h://127.0.0.1:1", "-x", "http://127.0.0.1:1", url).code == 64)
        #expect(try run("--proxy", "http:nothing", url).code == 64)
    }

    @Test("a proxy can make a tunnel for http too, and challenge for Digest")
    func tunnel() throws {
        let proxy = try ScriptedServer.start([
            .receiveHead,
            .send(
                "HTTP/1.1 407 No\r\nProxy-Authenticate: Digest realm=\"p\", nonce=\"n\", qop=\"auth\"\r\n"
                    + "Content-Length: 0\r\n\r\n"),
            .receiveHead, .send("HTTP/1.1 200 OK\r\n\r\n"), .receiveHead,
            .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .hold,
        ])
        let result = try run(
            "--proxytunnel", "--proxy-auth-type", "digest", "--proxy", "http://u:p@127.0.0.1:\(proxy.port)",
            "http://origin.test/x")
        #expect(result.code == 0 && text(result).hasSuffix("ok"), "\(result.errors)")
        let heads = proxy.events.events.compactMap { if case .head(_, let head) = $0 { head } else { nil } }
        #expect(heads.map { String($0.prefix(10)) } == ["CONNECT or", "CONNECT or", "GET /x HTT"])
        #expect(heads.map { $0.contains("Proxy-Authorization: Digest ") } == [false, true, false])
        #expect(try run("--proxytunnel", "http://origin.test/x").code == 64)
    }

    @Test("under the name fws, URLs without a scheme are https")
    func alias() throws {
        let link = folder.file("fws")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: RunningCommand.program)
        let process = Process()
        process.executableURL = link
        process.arguments = ["--curl", "localhost/x"]
        let output = Pipe.closedOnExec()
        process.standardOutput = output
        try process.start()
        let printed = String(decoding: output.fileHandleForReading.contentToEnd(), as: UTF8.self)
        process.waitUntilExit()
        #expect(printed.contains("https://localhost/x"), "\(printed)")
    }

    @Test("--debug says what the library does")
    func debug() throws {
        let result = try run("--debug", server.url("/get").absoluteString)
        #expect(result.errors.hasPrefix("* fireweed ") && result.errors.contains("* Trying 127.0.0.1"))
    }

    @Test("HTTP versions can be chosen")
    func versions() throws {
        let authority = try CertificateAuthority()
        let nginx = try NginxServer(certificate: authority.issue())
        let url = try #require(nginx.secureURL).appendingPathComponent("small").absoluteString
        let trust = ["--print=h", "--cacert", authority.certificate.path, url]
        let newer = try Command.run(trust, in: folder.url)
        #expect(text(newer).hasPrefix("HTTP/2 200"), "\(newer.errors)")
        #expect(text(try Command.run(["--http1.1"] + trust, in: folder.url)).hasPrefix("HTTP/1.1 200"))
        #expect(try Command.run(["--ssl", "tls1.2"] + trust, in: folder.url).code == 0)
        #expect(try Command.run(["--ciphers", "NOPE"] + trust, in: folder.url).code != 0)
    }

    @Test("--http2-prior-knowledge speaks HTTP/2 in clear text, and says when the server does not")
    func priorKnowledge() throws {
        let nginx = try NginxServer(speaksPlainHTTP2: true)
        let url = try #require(nginx.plainHTTP2URL).appendingPathComponent("small").absoluteString
        let options = ["--print=h", "--http2-prior-knowledge"]
        let result = try Command.run(options + [url], in: folder.url)
        #expect(text(result).hasPrefix("HTTP/2 200"), "\(result.errors)")
        let old = try ScriptedServer.start([.receiveHead, .send("HTTP/1.1 400 Bad Request\r\n\r\n"), .close])
        let refused = try Command.run(options + [old.url().absoluteString], in: folder.url)
        #expect(refused.code == 6 && refused.errors.contains("answers in HTTP/1"), "\(refused.errors)")
    }

    @Test("--timing draws the phases of the exchange")
    func timing() throws {
        let result = try run("--timing", server.url("/get").absoluteString)
        let phases = result.errors.split(separator: "\n").compactMap { $0.split(separator: " ").first.map(String.init) }
        #expect(result.code == 0 && phases.suffix(3) == ["connect", "wait", "transfer"], "\(result.errors)")
    }

    @Test("--max-headers refuses a head with more fields")
    func maximumFields() throws {
        let result = try run("--max-headers", "1", server.url("/get").absoluteString)
        #expect(result.code == 6 && result.errors.contains("more fields than the limit of 1"), "\(result.errors)")
        #expect(try run("--max-headers", "50", server.url("/get").absoluteString).code == 0)
    }

    @Test("--session-read-only uses a session and changes nothing in it")
    func readOnly() throws {
        let file = folder.file("s.json").path
        #expect(try run("--session", file, server.url("/cookies/set?a=1").absoluteString).code == 0)
        let before = try Data(contentsOf: folder.file("s.json"))
        let result = try run("--session-read-only", file, server.url("/cookies/set?b=2").absoluteString)
        let after = try Data(contentsOf: folder.file("s.json"))
        #expect(text(result).contains("\"a\"") && after == before)
    }

    @Test("status looks up, connects, speaks TLS, and says what it saw")
    func status() throws {
        let open = try run("status", "127.0.0.1:\(server.port)")
        #expect(open.code == 0 && text(open).contains("connected in"), "\(text(open))")
        let closed = try run("status", "http://127.0.0.1:1/x")
        #expect(closed.code == 6 && text(closed).contains("Connection refused"), "\(text(closed))")
        let clear = try run("status", "https://127.0.0.1:\(server.port)")
        #expect(clear.code == 7 && text(clear).contains("TLS "), "\(text(clear))")
        #expect(try run("status", "does-not-exist.invalid:80").code == 6)
    }

    @Test("status takes the options of TLS")
    func secureStatus() throws {
        let authority = try CertificateAuthority()
        let secure = try WebSocketServer(certificate: authority.issue())
        let page = secure.url("/echo").absoluteString.replacing("wss://", with: "https://")
        let refused = try run("status", page)
        #expect(refused.code == 7 && text(refused).contains("TLS "), "\(text(refused))")
        let trusted = try run("status", "--cacert", authority.certificate.path, page)
        #expect(trusted.code == 0 && text(trusted).contains("certificate trusted"), "\(text(trusted))")
        let unchecked = try run("status", "-k", page)
        #expect(unchecked.code == 0 && text(unchecked).contains("certificate not checked"), "\(text(unchecked))")
        #expect(try run("status", "--cacert", "missing.pem", page).code == 64)
        #expect(try run("status", "--tls-min", "1.3", "--tls-max", "1.2", page).code == 64)
        withExtendedLifetime(authority) {}
    }

    @Test("--har says at once that its file cannot be written", arguments: ["missing/trace.har", "folder/"])
    func archive(path: String) throws {
        let result = try run("--har", path, server.url("/get").absoluteString)
        #expect(result.code == 1 && result.errors.contains(path), "\(result.errors)")
        #expect(server.requests.isEmpty)
    }

    @Test("serve logs its requests, lists its endpoints, and serves a folder and nothing beside it")
    func serve() async throws {
        try FileManager.default.createDirectory(at: folder.file("site"), withIntermediateDirectories: false)
        try Data("hello".utf8).write(to: folder.file("site/a.txt"))
        try Data("secret".utf8).write(to: folder.file("secret"))
        let running = try RunningCommand(["serve", "site"], in: folder.url, hasInput: false)
        let line = await running.read(until: "\n")
        let url = try #require(line.split(separator: " ").last?.trimmingCharacters(in: .whitespacesAndNewlines))
        #expect(try text(run("\(url)/a.txt")) == "hello" && text(run("\(url)/")) == "a.txt\n")
        for path in ["/../secret", "/%2e%2e/secret", "/..%2fsecret"] {
            #expect(try run("--check-status", url + path).code == 4, "\(path)")
        }
        #expect(await running.read(until: "..%2fsecret → 404").contains("GET /a.txt → 200"))
        running.process.terminate()
        #expect(await running.rest().code == 143)
        #expect(try text(run(server.url("/").absoluteString)).contains("/anything"))
    }

    @Test("serve sends large files as they are read, and nothing that is not a file")
    func serveFiles() async throws {
        let large = Data((0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        try large.write(to: folder.file("large"))
        try Data().write(to: folder.file("empty"))
        mkfifo(folder.file("fifo").path, 0o600)
        let running = try RunningCommand(["serve", "."], in: folder.url, hasInput: false)
        let line = await running.read(until: "\n")
        let url = try #require(line.split(separator: " ").last?.trimmingCharacters(in: .whitespacesAndNewlines))
        #expect(try run("\(url)/large").output == large && run("\(url)/empty").output.isEmpty)
        #expect(try run("--check-status", "\(url)/fifo").code == 4)
        running.process.interrupt()
        #expect(await running.rest().code == 130)
    }

    @Test("serve speaks TLS with a certificate of its own or a given one, has a WebSocket and events")
    func serveTLS() async throws {
        let environment = ["XDG_CONFIG_HOME": folder.file("config").path]
        let running = try RunningCommand(
            ["serve", "--tls"], in: folder.url, hasInput: false, environment: environment)
        let said = await running.read(until: ".pem\n")
        let words = said.split(whereSeparator: \.isWhitespace).map(String.init)
        let url = try #require(words.first { $0.hasPrefix("https://") })
        let authority = try #require(words.last)
        #expect(try run("--cacert", authority, "--check-status", "\(url)/get").code == 0)
        #expect(try run("\(url)/get").code == 7)
        let events = try run("--cacert", authority, "\(url)/sse?count=2&duration=0")
        #expect(text(events).hasSuffix("id: 2\nevent: tick\ndata: {\"id\": 2}\n\n"))
        let socket = url.replacing("https:", with: "wss:") + "/websocket"
        let echoed = try Command.run(["ws", "--cacert", authority, socket], in: folder.url, input: "a\nb\n")
        #expect(echoed.code == 0 && text(echoed) == "a\nb\n", "\(echoed.errors)")
        #expect(try run("--cacert", authority, "--check-status", "\(url)/websocket").code == 4)
        running.process.interrupt()
        #expect(await running.rest().code == 130)

        let own = try CertificateAuthority()
        let issued = try own.issue()
        let files = ["--cert", issued.certificate.path, "--key", issued.key.path]
        let second = try RunningCommand(["serve"] + files, in: folder.url, hasInput: false)
        let line = await second.read(until: "\n")
        let place = try #require(line.split(separator: " ").last?.trimmingCharacters(in: .whitespacesAndNewlines))
        #expect(try run("--cacert", own.certificate.path, "--check-status", "\(place)/get").code == 0)
        second.process.terminate()
        _ = await second.rest()
        #expect(try run("serve", "--key", issued.key.path).code == 64)
        #expect(try run("serve", "--cert", "/nope").code == 64)
        let swapped = try run("serve", "--cert", issued.key.path, "--key", issued.certificate.path)
        #expect(swapped.code == 1 && swapped.errors.contains("with this certificate"), "\(swapped.errors)")
    }

    @Test("serve answers from an archive, and says what is nearest to what is not in it")
    func serveRecording() async throws {
        let archive = """
            {"log": {"entries": [
              {"request": {"method": "GET", "url": "https://api.example.com/users?page=1"}, "response": {"status": 200,
                "headers": [{"name": "content-type", "value": "text/plain"}], "content": {"text": "ada"}}},
              {"request": {"method": "GET", "url": "https://api.example.com/old"}, "response": {"status": 302,
                "headers": [{"name": "location", "value": "https://api.example.com/users?page=1"}]}},
              {"request": {"method": "POST", "url": "https://api.example.com/users",
                "postData": {"mimeType": "application/json", "text": "{\\"name\\": \\"bo\\"}"}}, "response": {"status": 201}}]}}
            """
        try Data(archive.utf8).write(to: folder.file("a.har"))
        let running = try RunningCommand(["serve", "--har", "a.har"], in: folder.url, hasInput: false)
        let line = await running.read(until: "\n")
        #expect(line.hasPrefix("Serving a.har on http://127.0.0.1:"))
        let url = try #require(line.split(separator: " ").last?.trimmingCharacters(in: .whitespacesAndNewlines))
        #expect(try text(run("\(url)/users?page=1")) == "ada" && text(run("--follow", "\(url)/old")) == "ada")
        #expect(try run("--check-status", "POST", "\(url)/users", "name=bo").code == 0)
        let head = try run("--print", "h", "HEAD", "\(url)/users?page=1")
        #expect(head.code == 0 && text(head).contains("content-type: text/plain"), "\(text(head))")
        let other = try run("--check-status", "POST", "\(url)/users", "name=cy")
        #expect(other.code == 5 && text(other).contains("$.name: expected \"bo\", got \"cy\""), "\(text(other))")
        #expect(await running.read(until: "→ 501").contains("GET /users?page=1 → 200\n"))
        running.process.terminate()
        #expect(await running.rest().code == 143)

        try Data("{}".utf8).write(to: folder.file("b.har"))
        let damaged = try run("serve", "--har", "b.har")
        #expect(damaged.code == 1 && damaged.errors.contains("b.har: This is no HTTP archive"), "\(damaged.errors)")
        #expect(try run("serve", "--har", "a.har", ".").code == 64)
        #expect(try run("serve", "--har", "nowhere.har").code == 64)
    }

    @Test("the short help is short, and --help TOPIC prints one part")
    func help() throws {
        let short = try text(run("--help"))
        #expect(short.contains("--form") && short.contains("--help all") && !short.contains("--max-expansion"))
        #expect(try text(run("--help", "all")).contains("--max-expansion"))
        #expect(try text(run("--help", "TLS")).hasPrefix("TLS:\n"))
        #expect(try text(run("--help", "connection")).contains("--connect-to"))
        #expect(try text(run("serve", "--help")).contains("--tls"))
        #expect(try text(run("GET", "h.example", "--help")) == short)
    }

    @Test("text on a terminal is read in its character set, and colours can be switched off")
    func terminal() async throws {
        server.route("/latin") { _ in
            FixtureResponse(
                fields: [("Content-Type", "text/plain; charset=iso-8859-1")], body: .data(Data([0xE9, 0x0A])))
        }
        func shown(_ arguments: [String], environment: [String: String]) async throws -> String {
            let running = try RunningCommand(
                arguments, in: folder.url, onTerminal: true,
                environment: ["TERM": "xterm", "NO_COLOR": ""].merging(environment) { $1 })
            return await running.rest().output
        }
        let latin = server.url("/latin").absoluteString
        #expect(try await shown(["-b", latin], environment: [:]).contains("é"))
        let json = server.url("/json").absoluteString
        #expect(try await shown([json], environment: [:]).contains("\u{1B}["))
        for environment in [["NO_COLOR": "1"], ["TERM": "dumb"]] {
            #expect(try await !shown([json], environment: environment).contains("\u{1B}["), "\(environment)")
        }
        #expect(try await !shown(["--pretty=none", json], environment: [:]).contains("\u{1B}["))
        #expect(try text(run("--pretty=format", server.url("/small").absoluteString)).contains("\n    \"id\": 42,\n"))
        #expect(try text(run("--response-charset", "latin1", latin)) == "é\n")
        let typed = try run("--pretty=format", "--response-mime", "application/json", latin)
        #expect(text(typed) == "é\n")
    }
}
