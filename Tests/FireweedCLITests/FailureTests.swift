import FixtureServer
import Foundation
import Testing

@Suite("What a failure says, and its exit code", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FailureTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    private func run(_ arguments: String..., environment: [String: String] = [:]) throws -> CommandResult {
        try Command.run(arguments, in: folder.url, environment: environment)
    }

    private func url(_ path: String) -> String { server.url(path).absoluteString }

    @Test("when the reader of a pipe has gone the exit code is 1, and nothing is printed", arguments: ["", "fetch "])
    func closedPipe(command: String) throws {
        // More than a pipe holds, so that the write comes after the end of the reader.
        let script = "{ \"$0\" \(command)\(url("/bytes/1000000")); echo \"code $?\" >&2; } | true"
        let result = try Command.run(script: script, in: folder.url)
        #expect(result.errors == "code 1\n")
    }

    @Test("a time-out of 0 is none", arguments: ["--timeout", "--connect-timeout", "--max-time"])
    func noTimeOut(option: String) throws {
        let result = try run(option, "0", url("/get"))
        #expect(result.code == 0 && result.errors.isEmpty, "\(result.errors)")
        #expect(try run(option, "-1", url("/get")).code == 64)
    }

    @Test("a proxy that refuses the connection is called a proxy", arguments: ["http", "socks5h"])
    func refusedProxy(scheme: String) throws {
        let result = try run("--proxy", "\(scheme)://127.0.0.1:1", url("/get"))
        #expect(result.code == 6 && result.errors.contains("the proxy 127.0.0.1 port 1"), "\(result.errors)")
    }

    @Test("files that cannot be written or read are told in a sentence")
    func files() throws {
        try FileManager.default.createDirectory(at: folder.file("d"), withIntermediateDirectories: false)
        try Data("x".utf8).write(to: folder.file("f"))
        let target = url("/get")
        for (arguments, complaint) in [
            (["-o", "/dev/full", target], "/dev/full could not be written: the disk is full"),
            (["-d", "-o", "/dev/full", target], "/dev/full could not be written: the disk is full"),
            (["-o", "d", target], "a folder is there"), (["-c", "-o", "d", target], "a folder is there"),
            (["--har", "d", target], "a folder is there"), (["fetch", "--save", "f", target], "a file is there"),
            (["--session", "./d", target], "--session needs a file"),
        ] {
            let result = try Command.run(arguments, in: folder.url)
            #expect(result.code != 0 && result.errors.contains(complaint), "\(arguments): \(result.errors)")
            #expect(!result.errors.contains("Error Domain") && result.errors.count { $0 == "\n" } == 1)
        }
        for _ in 0..<2 {
            let again = try run("-c", "-o", "whole", url("/bytes/10"))
            #expect(again.code == 0 && !again.errors.contains("Error Domain"), "\(again.errors)")
        }
    }

    @Test("a certificate that is not trusted says which options would help")
    func trust() throws {
        let authority = try CertificateAuthority()
        let secure = try FixtureServer.start(certificate: authority.issue())
        let unknown = try run(secure.url("/get").absoluteString)
        #expect(unknown.code == 7 && unknown.errors.contains("--cacert FILE") && unknown.errors.contains("-k"))
        let socket = try run("ws", secure.url("/websocket").absoluteString)
        #expect(socket.code == 7 && socket.errors.contains("--cacert FILE"), "\(socket.errors)")
        withExtendedLifetime(authority) {}
    }

    @Test("ws takes https and http, warns at -k, and shows the head of a refused handshake with -v")
    func socket() throws {
        let sockets = try WebSocketServer.shared
        let clear = sockets.url("/echo").absoluteString.replacing("ws://", with: "http://")
        let answered = try Command.run(["ws", clear], in: folder.url, input: "one\n")
        #expect(answered.code == 0 && answered.output == Data("one\n".utf8), "\(answered.errors)")
        let authority = try CertificateAuthority()
        let secure = try WebSocketServer(certificate: authority.issue())
        let page = secure.url("/echo").absoluteString.replacing("wss://", with: "https://")
        let warned = try Command.run(["ws", "-k", page], in: folder.url, input: "one\n")
        #expect(warned.code == 0 && warned.errors.contains("warning: the server's certificate is not checked"))
        withExtendedLifetime(authority) {}
        let refused = try run("ws", "-v", sockets.url("/status?code=403").absoluteString)
        #expect(refused.code == 6 && refused.errors.hasPrefix("HTTP/1.1 403 "), "\(refused.errors)")
        #expect(try !run("ws", sockets.url("/status?code=403").absoluteString).errors.contains("HTTP/1.1"))
    }

    @Test(
        "a word that is an item is no URL, and nothing is looked up",
        arguments: [
            ["-d", "password=hunter2"], ["-b", "sid=secret"], ["name=x"], ["-d", "@file"], ["--json", "{\"a\":1}"],
        ])
    func itemFirst(words: [String]) throws {
        let result = try Command.run(
            words + [url("/anything")], in: folder.url, environment: ["https_proxy": "http://127.0.0.1:\(server.port)"])
        #expect(result.code == 64 && result.errors.contains("is not a URL"), "\(result.errors)")
        #expect(server.requests.isEmpty)
    }

    @Test(
        "options of curl are not shortened options of this command",
        arguments: [(["--header", "A: b"], "Name:value"), (["--head"], "fireweed HEAD URL")])
    func foreign(words: [String], hint: String) throws {
        let result = try Command.run([url("/anything")] + words, in: folder.url)
        #expect(result.code == 64 && result.errors.contains(hint), "\(result.errors)")
    }

    @Test("--http2 offers HTTP/2, and falls back to HTTP/1.1")
    func http2() throws {
        let result = try run("--http1.1", "--http2", "--print", "h", url("/get"))
        #expect(result.code == 0 && result.output.starts(with: "HTTP/1.1 200".utf8), "\(result.errors)")
    }

    @Test("Accept-Language is sent only when it is asked for")
    func language() throws {
        for arguments in [[], ["Accept-Language:de"]] {
            let command = [url("/get")] + arguments
            #expect(try Command.run(command, in: folder.url, environment: ["LANG": "fr_FR.UTF-8"]).code == 0)
        }
        #expect(server.requests.map { $0.field("Accept-Language") } == [nil, "de"])
    }
}
