import FixtureServer
import Foundation
import Testing

@Suite("Wire output of the command", .timeLimit(.minutes(TestTimeouts.minutes)))
struct WireTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func run(_ arguments: String..., environment: [String: String] = [:]) throws -> CommandResult {
        try Command.run(arguments, in: folder.url, environment: environment)
    }

    private func text(_ result: CommandResult) -> String { String(decoding: result.output, as: UTF8.self) }

    /// The head that a scripted server received.
    private func head(_ server: ScriptedServer) -> String {
        server.events.events.lazy.compactMap { if case .head(_, let text) = $0 { text } else { nil } }.first ?? ""
    }

    @Test("a request's head is shown as it was sent, byte for byte, and a response's as it came")
    func heads() throws {
        let response =
            "HTTP/1.0 299 Fine By Me\r\nset-cookie: a=1\r\nX-b: 1\r\nSet-Cookie: b=2\r\nETAG: \"x\"\r\n\r\nok"
        let server = try ScriptedServer.start([.receiveHead, .receive(byteCount: 10), .send(response), .close])
        let result = try run(
            "-v", "POST", server.url("/a%2Fb/c%20d?q=%41").absoluteString, "x-custom:1", "X-A:1", "X-A:2",
            "Accept:", "Accept-Encoding:", "a=b")
        let sent = head(server)
        #expect(sent.hasPrefix("POST /a%2Fb/c%20d?q=%41 HTTP/1.1\r\n"))
        #expect(sent.contains("\r\nx-custom: 1\r\nX-A: 1\r\nX-A: 2\r\n"), "\(sent)")
        #expect(!sent.contains("Accept:") && !sent.contains("Accept-Encoding:"))
        let lines = response.components(separatedBy: "\r\n\r\n")[0] + "\r\n\r\n"
        let expected = sent + "{\"a\": \"b\"}\r\n\r\n" + lines + "ok"
        let shown = text(result).replacing("{\n    \"a\": \"b\"\n}", with: "{\"a\": \"b\"}")
        #expect(shown == expected.replacing("\r\n", with: "\n"), "\(shown)")
    }

    @Test("the request is shown when it has gone out, before there is a response")
    func live() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .wait(for: "go"), .send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), .close,
        ])
        let running = try RunningCommand(["-v", server.url("/x").absoluteString], in: folder.url, hasInput: false)
        #expect(await running.read(until: "\n\n").hasPrefix("GET /x HTTP/1.1\n"))
        server.signal("go")
        #expect(await running.rest().output.hasSuffix("HTTP/1.1 200 OK\nContent-Length: 0\n\n"))
    }

    @Test("after a redirect every request is shown with its own content, and with --all every response")
    func redirects() throws {
        let server = try FixtureServer.start()
        let url = server.url("/redirect-to?url=/get&status_code=303").absoluteString
        let plain = text(try run("--print=HBh", "POST", url, "a=b"))
        #expect(plain.components(separatedBy: "\"a\": \"b\"").count == 2 && plain.contains("\nGET /get HTTP/1.1\n"))
        #expect(!plain.contains("HTTP/1.1 303") && plain.contains("HTTP/1.1 200 OK"))
        let all = text(try run("--print=HBh", "--all", "POST", url, "a=b"))
        let positions = ["POST /redirect-to", "\"a\": \"b\"", "HTTP/1.1 303", "GET /get", "HTTP/1.1 200"].map {
            all.firstRange(of: $0)?.lowerBound ?? all.endIndex
        }
        #expect(positions == positions.sorted() && !positions.contains(all.endIndex), "\(all)")
    }

    @Test("trailers are shown after the content, and interim responses with --all")
    func trailers() throws {
        let script = [
            "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n",
        ].joined()
        let server = try ScriptedServer.start([.receiveHead, .send(script), .close])
        let result = try run("--print=hb", "--all", server.url().absoluteString)
        #expect(text(result).hasPrefix("HTTP/1.1 103 Early Hints\nLink: </x>\n\nHTTP/1.1 200 OK\n"))
        #expect(text(result).hasSuffix("\n\nok\nX-Sum: 1\n"), "\(text(result))")
    }

    @Test("a head that is cut in the middle is an error, and what came of it is shown")
    func cutHead() throws {
        let server = try ScriptedServer.start([.receiveHead, .send("HTTP/1.1 200 OK\r\nX-A: 1\r\nX-B"), .close])
        let result = try run("--print=hb", server.url().absoluteString)
        #expect(result.code == 6 && !result.errors.isEmpty, "\(result.code) \(result.errors)")
        #expect(text(result).contains("X-A: 1"), "\(text(result))")
    }

    @Test("--sorted sorts the fields of a head")
    func sorted() throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 200 OK\r\nB: 1\r\na: 2\r\nContent-Length: 0\r\n\r\n"), .close,
        ])
        #expect(
            try text(run("-h", "--sorted", server.url().absoluteString))
                == "HTTP/1.1 200 OK\na: 2\nB: 1\nContent-Length: 0\n\n")
    }

    @Test(
        "--offline prints what would be sent, and sends nothing",
        arguments: [
            [], ["a=1", "b[c]:=2"], ["--form", "a=1"], ["X-A:1", "X-A:2", "Accept:"],
            ["--raw", "text", "Host:h.example"],
            ["-a", "u:p"], ["--form", "--boundary", "x", "f@file;type=a/b", "a=1"], ["--chunked", "a=1"],
        ])
    func offline(arguments: [String]) throws {
        try Data("content".utf8).write(to: folder.file("file"))
        let server = try FixtureServer.start()
        let url = server.url("/anything?q=%20").absoluteString
        let printed = text(try Command.run(["--offline", "PUT", url] + arguments, in: folder.url))
        #expect(server.requests.isEmpty)
        let shown = text(try Command.run(["--print=HB", "PUT", url] + arguments, in: folder.url))
        #expect(printed == shown && printed.hasPrefix("PUT /anything?q=%20 HTTP/1.1\nHost: "), "\(printed)\n\(shown)")
    }

    @Test("credentials of the URL are sent at once, and are not part of the request's URL")
    func userInfo() throws {
        let server = try FixtureServer.start()
        let url = server.url("/basic-auth/us%20er/pa:ss").absoluteString.replacing("://", with: "://us%20er:pa:ss@")
        #expect(try run("--check-status", url).code == 0)
        #expect(server.requests.count == 1)
        let digest = server.url("/digest-auth/auth/user/secret").absoluteString.replacing(
            "://", with: "://user:secret@")
        #expect(try run("--check-status", "--auth-type", "digest", digest).code == 0)
    }

    @Test("duplicate fields, files in fields and queries, and names in their case are sent as typed")
    func asTyped() throws {
        try Data("from file\n".utf8).write(to: folder.file("line"))
        let server = try FixtureServer.start()
        #expect(
            try run(
                server.url("/get").absoluteString, "X-A:1", "x-b:2", "X-A:3", "X-File:@line", "q==@line", "User-Agent:"
            )
            .code == 0)
        let request = try #require(server.requests.last)
        let own = request.fields.filter { $0.name.lowercased().hasPrefix("x-") }.map { "\($0.name): \($0.value)" }
        #expect(own == ["X-A: 1", "X-A: 3", "x-b: 2", "X-File: from file"])
        #expect(request.target == "/get?q=from%20file" && request.field("User-Agent") == nil)
    }

    @Test("fields of a WebSocket's handshake are sent as typed")
    func webSocket() throws {
        let peer = try WebSocketPeer { try $0.send(.init(8, [0x03, 0xE8])) }
        _ = try Command.run(["ws", peer.url.absoluteString, "x-a:1", "X-A:2"], in: folder.url, input: "")
        #expect(try #require(peer.handshakes.events.first).contains("x-a: 1\r\nX-A: 2\r\n"))
    }

    @Test("--multipart, --chunked, --compress and --upload - shape the content")
    func content() throws {
        let server = try FixtureServer.start()
        let url = server.url("/anything").absoluteString
        let parts = try run("--multipart", url, "a=b").object?["form"] as? [String: String]
        #expect(parts == ["a": "b"])
        let chunked = try run("--chunked", url, "a=b").object?["data"] as? String
        #expect(chunked == #"{"a": "b"}"#)
        #expect(server.requests.last?.field("Transfer-Encoding") == "chunked")
        #expect(try run("--compress", url, "a=\(String(repeating: "b", count: 2000))").code == 0)
        let compressed = try #require(server.requests.last)
        #expect(compressed.field("Content-Encoding") == "deflate" && compressed.bodyByteCount < 100)
        let piped = try Command.run(["--upload", "-", url], in: folder.url, input: "piped")
        #expect(piped.object?["data"] as? String == "piped")
    }

    @Test("fifos and the shell's <(…) are read as files are")
    func fifos() throws {
        let server = try FixtureServer.start()
        for (arguments, part) in [
            ("--upload <(printf piped)", "piped"), ("--form f@<(printf piped)", "piped"),
            ("a=@<(printf piped)", "piped"),
            ("a:=@<(printf 17)", "17"), ("X-A:@<(printf piped)", "piped"),
        ] {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/bash")
            let url = server.url("/anything").absoluteString
            process.arguments = ["-c", "'\(RunningCommand.program.path)' -I POST \(url) \(arguments)"]
            let options = arguments.split(separator: " ", maxSplits: 1)
            if arguments.hasPrefix("--") {
                process.arguments = [
                    "-c",
                    "'\(RunningCommand.program.path)' -I \(options[0]) "
                        + (options[0] == "--form" ? "\(url) \(options[1])" : "\(options[1]) \(url)"),
                ]
            }
            let output = Pipe.closedOnExec()
            process.standardOutput = output
            try process.start()
            let text = String(decoding: output.fileHandleForReading.contentToEnd(), as: UTF8.self)
            process.waitUntilExit()
            #expect(process.terminationStatus == 0 && text.contains(part), "\(arguments) \(text)")
        }
    }
}
