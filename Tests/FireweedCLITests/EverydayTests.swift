import FixtureServer
import Foundation
import Synchronization
import Testing

/// What was found by using the command for an hour, beside others of its kind.
@Suite("Everyday use", .timeLimit(.minutes(TestTimeouts.minutes)))
struct EverydayTests {
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

    private func url(_ path: String) -> String { server.url(path).absoluteString }

    private func text(_ result: CommandResult) -> String { String(decoding: result.output, as: UTF8.self) }

    private func read(_ name: String) throws -> String { try String(contentsOf: folder.file(name), encoding: .utf8) }

    @Test("-c saves an answer that is no part of the download where the file would be")
    func otherAnswers() throws {
        server.route("/part") { _ in
            FixtureResponse(status: 206, fields: [("Content-Range", "bytes 0-3/9")], body: .data(Data("0123".utf8)))
        }
        #expect(try run("-c", "-o", "y", url("/part"), "Range:bytes=0-3").code == 0)
        #expect(try read("y") == "0123")
        server.route("/failure") { _ in FixtureResponse(status: 500, body: .data(Data("why".utf8))) }
        #expect(try run("-c", "--fail-with-body", "-o", "z", url("/failure")).code == 5)
        #expect(try read("z") == "why")
    }

    @Test("-c asks for a finished file with the credentials, and says why it cannot tell")
    func finished() throws {
        server.route("/private") { request in
            guard request.field("Authorization") == "Basic dTpw" else { return FixtureResponse(status: 401) }
            return FixtureResponse(status: 200, body: .data(Data("whole".utf8)))
        }
        #expect(try run("-c", "-a", "u:p", "-o", "n", url("/private")).code == 0)
        let again = try run("-c", "-a", "u:p", "-o", "n", url("/private"))
        #expect(again.code == 0 && again.errors.contains("complete"), "\(again.errors)")
        let refused = try run("-c", "-o", "n", url("/private"))
        #expect(refused.code == 1 && refused.errors.contains("answers HEAD with 401"), "\(refused.errors)")
        let unreachable = try run("-c", "-o", "n", "http://127.0.0.1:1/n")
        #expect(unreachable.code == 6 && !unreachable.errors.contains("move it away"), "\(unreachable.errors)")
        server.route("/newer") { _ in
            FixtureResponse(
                status: 200, fields: [("Last-Modified", "Fri, 01 Jan 2100 00:00:00 GMT")],
                body: .data(Data("whole".utf8)))
        }
        let newer = try run("-c", "-o", "n", url("/newer"))
        #expect(newer.code == 1 && newer.errors.contains("newer"), "\(newer.errors)")
    }

    @Test("cookies of a session go beside those that are typed")
    func cookies() throws {
        server.route("/login") { _ in FixtureResponse(status: 200, fields: [("Set-Cookie", "login=1; Path=/")]) }
        let session = folder.file("s.json").path
        #expect(try run("--session", session, url("/login")).code == 0)
        #expect(try run("--session", session, url("/get"), "Cookie:lang=de").code == 0)
        #expect(server.requests.last?.field("Cookie") == "login=1; lang=de")
        #expect(try run("--session", session, url("/get"), "Cookie:login=2").code == 0)
        #expect(
            server.requests.last?.field("Cookie") == "login=2; lang=de"
                || server.requests.last?.field("Cookie") == "lang=de; login=2")
    }

    @Test("fields of a session stay with their origin in a redirect")
    func fields() throws {
        let other = try FixtureServer.start()
        let target = other.url("/anything").absoluteString
        server.route("/away") { _ in FixtureResponse(status: 302, fields: [("Location", target)]) }
        server.route("/home") { _ in FixtureResponse(status: 302, fields: [("Location", "/anything")]) }
        let session = folder.file("s.json").path
        #expect(try run("--session", session, url("/get"), "X-Shop:1").code == 0)
        #expect(try run("--session", session, url("/away")).code == 0)
        #expect(other.requests.last.map { $0.field("X-Shop") == nil } == true)
        #expect(try run("--session", session, url("/home")).code == 0)
        #expect(server.requests.last?.field("X-Shop") == "1")
    }

    @Test("content in chunks is sent again after a redirect, and is in the command of --curl")
    func chunks() throws {
        server.route("/moved") { _ in FixtureResponse(status: 308, fields: [("Location", "/anything")]) }
        try "from a file".write(to: folder.file("f"), atomically: true, encoding: .utf8)
        #expect(try run("--chunked", url("/moved"), "a=1").code == 0)
        #expect(server.requests.last?.body == Data("{\"a\": \"1\"}".utf8))
        #expect(server.requests.last?.field("Transfer-Encoding") == "chunked")
        #expect(try run("--chunked", "--upload", folder.file("f").path, url("/moved")).code == 0)
        #expect(server.requests.last?.body == Data("from a file".utf8))
        #expect(try run("--chunked", "--multipart", url("/moved"), "a=1").code == 0)
        #expect(server.requests.last?.field("Transfer-Encoding") == "chunked")
        #expect(server.requests.last?.field("Content-Length") == nil)
        let printed = text(try run("--chunked", "--curl", url("/anything"), "a=1"))
        #expect(
            printed.contains("-d \"{\\\"a\\\": \\\"1\\\"}\"") && printed.contains("-H 'Transfer-Encoding: chunked'"),
            "\(printed)")
        let pipe = try run("--upload", "-", url("/moved"), input: String(repeating: "x", count: 3 << 20))
        #expect(pipe.code != 0 && pipe.errors.contains("cannot be read again"), "\(pipe.errors)")
    }

    @Test("content that can be read once is not said to be sent again")
    func retries() throws {
        server.route("/busy") { _ in FixtureResponse(status: 503) }
        let input = String(repeating: "x", count: 3 << 20)
        let result = try run("PUT", "--retry", "3", "--upload", "-", url("/busy"), input: input)
        #expect(!result.errors.contains("retry 1 of 3"), "\(result.errors)")
        #expect(result.errors.contains("not tried again: the content cannot be read again"), "\(result.errors)")
        #expect(server.requests.count == 1)
    }

    @Test("--netrc has the password of the URL's user")
    func netrc() throws {
        try "machine 127.0.0.1 login a password x\nmachine 127.0.0.1 login nu password np\n"
            .write(to: folder.file("netrc"), atomically: true, encoding: .utf8)
        let withUser = url("/get").replacing("http://", with: "http://nu@")
        #expect(try run("--netrc", withUser, environment: ["NETRC": folder.file("netrc").path]).code == 0)
        #expect(server.requests.last?.field("Authorization") == "Basic \(Data("nu:np".utf8).base64EncodedString())")
    }

    @Test("curl -f prints no content of a failure, and -s no word of it")
    func curlFailures() throws {
        server.route("/gone") { _ in FixtureResponse(status: 404, body: .data(Data("page".utf8))) }
        let loud = try run("--from-curl", "curl -fsS \(url("/gone"))")
        #expect(loud.code == 4 && loud.output.isEmpty && loud.errors.contains("404"), "\(loud.errors)")
        let silent = try run("--from-curl", "curl -fs \(url("/gone"))")
        #expect(silent.code == 4 && silent.output.isEmpty && silent.errors.isEmpty, "\(silent.errors)")
        #expect(text(try run("--from-curl", "curl -s \(url("/gone"))")) == "page")
    }

    @Test("help is there whatever the configuration file says, and errors show no password")
    func helpful() throws {
        try "--nope\n".write(to: folder.file("config"), atomically: true, encoding: .utf8)
        let environment = ["FIREWEED_CONFIG": folder.file("config").path]
        for words in ["--help", "help", "--version"] {
            #expect(try run(words, environment: environment).code == 0, "\(words)")
        }
        let refused = try run(url("/get"), environment: environment)
        #expect(refused.code == 64 && refused.errors.contains("--nope"))
        for words in [["http://u:hunter2@h.example:99999/"], ["--proxy", "foo://u:hunter2@h.example", "h.example"]] {
            let result = try Command.run(words, in: folder.url)
            #expect(result.code == 64 && !result.errors.contains("hunter2"), "\(result.errors)")
        }
    }

    @Test("--offline leaves nothing behind")
    func offline() throws {
        // Longer than the path of a socket may be.
        let temporary = folder.file(String(repeating: "t", count: 120))
        try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: true)
        let result = try run("--offline", url("/get"), "a=1", environment: ["TMPDIR": temporary.path])
        #expect(result.code == 0, "\(result.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path).isEmpty)
    }

    @Test("--select says the status where there is no JSON")
    func selection() throws {
        server.route("/page") { _ in FixtureResponse(status: 404, body: .data(Data("<p>".utf8))) }
        let result = try run("--select", ".a", url("/page"))
        #expect(result.errors.contains("not JSON; the status is 404"), "\(result.errors)")
    }

    @Test("the home folder of a copied command is the one of HOME")
    func home() throws {
        let line = "127.0.0.1\tFALSE\t/\tFALSE\t0\tkept\t1\n"
        try line.write(to: folder.file("jar"), atomically: true, encoding: .utf8)
        let environment = ["HOME": folder.url.path]
        #expect(try run("--from-curl", "curl -b ~/jar \(url("/get"))", environment: environment).code == 0)
        #expect(server.requests.last?.field("Cookie") == "kept=1")
        #expect(try run("--from-curl", "curl -d ~ -d '~' -d a~b \(url("/get"))", environment: environment).code == 0)
        #expect(server.requests.last?.body == Data("\(folder.url.path)&~&a~b".utf8))
        #expect(try run("--from-curl", "curl -b ~ada/jar \(url("/get"))", environment: environment).code == 64)
    }

    @Test("the content of a small file is shown as any other, and a large or missing one is named")
    func shownFiles() throws {
        try #"{"a":1}"#.write(to: folder.file("small.json"), atomically: true, encoding: .utf8)
        try Data(repeating: 0x61, count: 64 * 1024).write(to: folder.file("large"))
        let offline = try run("--offline", url("/anything"), "@small.json")
        #expect(text(offline).hasSuffix("{\"a\":1}\n\n"), "\(offline)")
        #expect(try text(run("-v", url("/anything"), "@small.json")).contains(#"{"a":1}"#))
        let large = try run("--offline", url("/anything"), "@large")
        #expect(text(large).contains("(the content of ") && !text(large).contains("aaaa"))
    }

    @Test("an attempt that is made again does not use up the name of a download")
    func retriedName() throws {
        let count = Atomic(0)
        server.route("/flaky") { _ in
            let number = count.add(1, ordering: .relaxed).newValue
            return .text("\(number)", status: number < 3 ? 503 : 200)
        }
        #expect(try run("--retry", "3", "--retry-delay", "0.01", "-d", url("/flaky")).code == 0)
        #expect(try read("flaky") == "3")
    }

    @Test("-z of a curl command replaces no newer file, whatever the server makes of the condition")
    func timeCondition() throws {
        let fields = [("Last-Modified", "Sun, 01 Nov 2020 00:00:00 GMT")]
        server.route("/page") { _ in .text("server's", fields: fields) }
        try "local".write(to: folder.file("page"), atomically: true, encoding: .utf8)
        let format = "-w '%{http_code} %{size_download}\\n'"
        let kept = try run("--from-curl", "curl -s -z page -o page \(format) \(url("/page"))")
        #expect(kept.code == 0 && text(kept) == "304 0\n" && server.requests.count == 1)
        #expect(try read("page") == "local")
        let printed = try run("--from-curl", "curl -s -z 2020-11-01T00:00:00 \(format) \(url("/page"))")
        #expect(text(printed) == "304 0\n")
        let newer = try run(
            "--from-curl", "curl -s -z 'Sat, 31 Oct 2020 00:00:00 GMT' -o page \(format) \(url("/page"))")
        #expect(text(newer) == "200 8\n")
        #expect(try read("page") == "server's")
        let older = try run("--from-curl", "curl -s -z '-Sat, 31 Oct 2020 00:00:00 GMT' \(format) \(url("/page"))")
        #expect(text(older) == "304 0\n")
    }

    @Test("the first wait of a curl command's --retry is a second, as curl's")
    func curlRetryWait() throws {
        let result = try run("--from-curl", "curl --retry 1 http://127.0.0.1:1/")
        #expect(result.code == 6 && result.errors.contains("retry 1 of 1 in 1.0 s"), "\(result.errors)")
    }

    @Test("fetch --save replaces no file of another list")
    func savedFiles() throws {
        let first = try run("fetch", "--save", "saved", url("/get"))
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder.file("saved").path).first)
        #expect(first.code == 0)
        try "precious".write(to: folder.file("saved/\(name)"), atomically: true, encoding: .utf8)
        let second = try run("fetch", "--save", "saved", url("/get"))
        #expect(second.code == 1 && text(second).contains("is there already, and is not replaced"), "\(text(second))")
        #expect(server.requests.count == 1)
        #expect(try read("saved/\(name)") == "precious")
        let fresh = try run("fetch", "--save", "saved", "-o", "new", "--continue", url("/get"))
        #expect(fresh.code == 1 && server.requests.count == 1)
        #expect(try read("saved/\(name)") == "precious")
        // Records that a killed run has begun: the file may be its own.
        #expect(try run("fetch", "--save", "saved", "-o", "new", "--continue", url("/get")).code == 0)
        #expect(try read("saved/\(name)") != "precious")
    }

    @Test("ws sends the credentials of its URL")
    func socketCredentials() throws {
        let refusing = try ScriptedServer.start([.receiveHead, .send("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")])
        _ = try run("ws", "ws://u:p@127.0.0.1:\(refusing.port)/", input: "hi\n")
        let head = refusing.events.events.compactMap { if case .head(_, let head) = $0 { head } else { nil } }.first
        #expect(
            head?.contains("Authorization: Basic dTpw\r\n") == true && head?.hasPrefix("GET / HTTP/1.1\r\n") == true)
    }
}
