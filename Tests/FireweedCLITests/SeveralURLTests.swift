import CommandLanguage
import FixtureServer
import Foundation
import Glibc
import Testing

@testable import FireweedCLI

@Suite("Several URLs", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SeveralURLTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    private func run(_ arguments: String..., input: String? = nil) throws -> CommandResult {
        try Command.run(arguments, in: folder.url, input: input)
    }

    private func text(_ result: CommandResult) -> String { String(decoding: result.output, as: UTF8.self) }

    private func url(_ path: String) -> String { server.url.absoluteString + path }

    private func file(_ name: String) throws -> String { try String(contentsOf: folder.file(name), encoding: .utf8) }

    @Test(
        "ranges and alternatives stand for URLs, the last one changes first, and everything else is text",
        arguments: [
            ("a", ["a"]), ("a{1..3}", ["a1", "a2", "a3"]), ("[1-3]b", ["1b", "2b", "3b"]),
            ("{x,y}[1-2]", ["x1", "x2", "y1", "y2"]), ("[08-11]", ["08", "09", "10", "11"]),
            ("[0-10:5]", ["0", "5", "10"]), ("{0..10..5}", ["0", "5", "10"]), ("[a-e:2]", ["a", "c", "e"]),
            ("[X-Z]", ["X", "Y", "Z"]), ("{,a}", ["", "a"]), ("[5-5]", ["5"]),
            ("[::1]", ["[::1]"]), ("f[name]", ["f[name]"]), ("[0]", ["[0]"]), ("{id}", ["{id}"]), ("[3-1]", ["[3-1]"]),
            ("[a-Z]", ["[a-Z]"]), ("[Z-a]", ["[Z-a]"]), ("[1-2", ["[1-2"]), ("{1,2", ["{1,2"]), ("[-1-2]", ["[-1-2]"]),
            ("[1-5:0]", ["[1-5:0]"]), ("[1-99999999999999999999]", ["[1-99999999999999999999]"]),
        ])
    func patterns(word: String, urls: [String]) throws {
        let pattern = try URLGlob(word)
        #expect((0..<pattern.count).map { pattern.url(at: $0).text } == urls)
    }

    @Test(
        "braces of a curl command are alternatives alone",
        arguments: [
            ("a{1..3}", ["a1..3"]), ("{id}/x", ["id/x"]), ("{x,y}[1-2]", ["x1", "x2", "y1", "y2"]), ("{}", ["{}"]),
        ])
    func curlPatterns(word: String, urls: [String]) throws {
        let pattern = try URLGlob(word, asCURL: true)
        #expect((0..<pattern.count).map { pattern.url(at: $0).text } == urls)
    }

    @Test(
        "what a curl command leaves open, and a range the wrong way round, is an error",
        arguments: ["a{b", "[1-3", "{a}{b", "a]b[", "{}[1-", "[3-1]", "[c-a]"])
    func openPatterns(word: String) throws {
        #expect(throws: UsageError.self) { try URLGlob(word, asCURL: true) }
        #expect(throws: UsageError.self) { try URLGlob(String(repeating: "{", count: 200_000), asCURL: true) }
    }

    @Test("brackets without end are text, in no quadratic time", arguments: ["{", "[", "{[", "{}[", "[1-"])
    func brackets(unit: String) throws {
        for end in ["", "}", "]"] {
            let word = String(repeating: unit, count: 200_000) + end
            #expect(try URLGlob(word).url(at: 0).text == word)
        }
    }

    @Test("an expectation that is not met names its URL")
    func expectation() throws {
        let result = try run("-q", "--expect", "status==200", url("/status/200"), url("/status/404"))
        #expect(result.code == 5)
        #expect(result.errors == "fireweed: \(url("/status/404")): expected status==200, but the status is 404\n")
    }

    @Test("a word that stands for too many URLs is refused", arguments: ["[1-99999999]", "[1-9999][1-9999][1-9999]"])
    func tooMany(word: String) {
        #expect(throws: UsageError.self) { try URLGlob(word) }
    }

    @Test("words behind a URL are further URLs or items")
    func words() throws {
        let several = try ArgumentParser.parse([
            ":1/a", ":2", "http://h/b", "h.example/c", "x=y", "a:b", "q==http://h/",
        ])
        #expect(several.urlCount == 4 && several.items.count == 3)
        let urls = try (0..<4).map { try several.invocation(at: $0).url }
        #expect(urls == ["http://localhost:1/a", "http://localhost:2", "http://h/b", "https://h.example/c"])
        #expect(try ArgumentParser.parse(["-g", "h.example/{a,b}"]).urlCount == 1)
        #expect(try ArgumentParser.parse(["h.example/?a[1]=2"]).urlCount == 1)
        let wrongs = [
            ["h.example", "foo"], ["h.example", "a=b", "http://h/"], ["-o", "x", "h.example/[1-2]"],
            ["-o", "#2.txt", "h.example/[1-2]"], ["-o", "#1.txt", "h.example/[1-2]/{a,b}"],
            ["-o", "#1.txt", "h.example/[1-2]", "h.example/[2-3]"],
        ]
        #expect(try ArgumentParser.parse(["-o", "#1-#2", "h.example/[1-2]/{a,b}"]).urlCount == 4)
        for wrong in wrongs {
            #expect(throws: UsageError.self, "\(wrong)") { try ArgumentParser.parse(wrong) }
        }
    }

    @Test("several URLs are sent in their order, over one connection")
    func inTurn() throws {
        let result = try run("--check-status", "--select", ".method", url("/anything/{a,b}"), url("/anything/c"), "x=y")
        #expect(result.code == 0 && text(result) == "POST\nPOST\nPOST\n", "\(result.errors)")
        #expect(server.requests.map(\.path) == ["/anything/a", "/anything/b", "/anything/c"])
        #expect(server.requests.allSatisfy { $0.body == Data("{\"x\": \"y\"}".utf8) } && server.connectionCount == 1)
        let all = try run("--all", "--print=Hh", url("/redirect/1"), url("/status/204"))
        let lines = text(all).split(separator: "\n").filter { $0.contains("HTTP/1.1") }
        let expected = [
            "GET /redirect/1 HTTP/1.1", "HTTP/1.1 302 Found", "GET /get HTTP/1.1", "HTTP/1.1 200 OK",
            "GET /status/204 HTTP/1.1", "HTTP/1.1 204 No Content",
        ]
        #expect(lines.map(String.init) == expected)
    }

    @Test("the exit code is the first failure's, and the other URLs are sent all the same")
    func failures() throws {
        for option in ["--check-status", "--parallel=3"] {
            let result = try run(
                "--check-status", option, "-w", "%{http_code}\\n", "-q", url("/status/200"), "http://127.0.0.1:1/",
                url("/status/500"), url("/status/404"))
            #expect(result.code == 6 && text(result) == "200\n000\n500\n404\n", "\(option): \(result.errors)")
        }
    }

    @Test("with --parallel each response has its own fields and heads")
    func parallelHeads() throws {
        for name in ["a", "b", "c"] {
            server.route("/\(name)") { _ in .text(name, fields: [("X-Name", name)]) }
        }
        let format = "%{url} %header{x-name} %{num_headers}\\n"
        let result = try run("--parallel", "3", "-q", "-w", format, url("/a"), url("/b"), url("/c"))
        for line in String(decoding: result.output, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            #expect(words.count == 3 && words[0].hasSuffix("/\(words[1])") && words[2] != "0", "\(line)")
        }
        let script = "TERM=dumb script -qc \"$0 --parallel 3 \(url("/[a-c]"))\" /dev/null"
        let shown = try Command.run(script: script, in: folder.url)
        let lines = String(decoding: shown.output, as: UTF8.self).split { $0.isNewline }
            .filter { $0.hasPrefix("X-Name:") || $0.count == 1 }
        #expect(lines == ["X-Name: a", "a", "X-Name: b", "b", "X-Name: c", "c"], "\(shown)")
        let curl = "curl -Z -s -D h1 -o o1 \(url("/a")) -o o2 \(url("/redirect-to?url=/b"))"
        #expect(try run("--from-curl", curl + " -L").code == 0)
        let heads = try String(contentsOf: folder.file("h1"), encoding: .utf8)
        #expect(heads.components(separatedBy: "\r\n\r\n").count == 4 && heads.contains("X-Name: b\r\n"), "\(heads)")
    }

    @Test("--parallel runs requests at a time, and prints in the order of the URLs")
    func parallel() throws {
        server.route("/early") { _ in .text("early\n") }
        server.route("/late") { _ in
            var response = FixtureResponse.text("late\n")
            response.delay = 0.3
            return response
        }
        let result = try run("--parallel", "3", url("/late"), url("/early"), url("/early"), url("/late"))
        #expect(result.code == 0 && text(result) == "late\nearly\nearly\nlate\n", "\(result.errors)")
        // A connection that was given up while it was made counts too.
        #expect((2...4).contains(server.connectionCount))
        let many = try run("--parallel", "20", "--select", ".url", url("/anything?[1-300]"))
        #expect(text(many).split(separator: "\n").map(String.init) == (1...300).map { url("/anything?\($0)") })
        for option in ["-v", "--all", "--offline", "--curl", "--print=h"] {
            #expect(try run("--parallel", "2", option, url("/get?[1-2]")).code == 64, "\(option)")
        }
    }

    @Test("files have the texts of their URL in their names, and downloads never share one", arguments: ["1", "4"])
    func files(parallel: String) throws {
        let named = try run("--parallel", parallel, "-o", "#2-#1-#3.txt", url("/anything/{a,b}/[1-2]"))
        #expect(named.code == 0, "\(named.errors)")
        #expect(try file("1-a-#3.txt").contains("/anything/a/1") && file("2-b-#3.txt").contains("/anything/b/2"))
        let downloaded = try run("-d", "--parallel", parallel, url("/bytes/10"), url("/bytes/10"), url("/bytes/10"))
        #expect(downloaded.code == 0, "\(downloaded.errors)")
        #expect(["10", "10-1", "10-2"].allSatisfy { FileManager.default.fileExists(atPath: folder.file($0).path) })
    }

    @Test("content that is read as it is sent goes to one URL only; short content goes to all")
    func content() throws {
        let short = try run("--select", ".data", url("/anything/[1-2]"), input: "hello")
        #expect(short.code == 0 && text(short) == "hello\nhello\n", "\(short.errors)")
        mkfifo(folder.file("fifo").path, 0o600)
        let long = try run("--upload", "fifo", url("/upload?[1-2]"))
        #expect(long.code == 64 && long.errors.contains("to one URL only"), "\(long.errors)")
    }

    @Test("Ctrl-C ends all of them", arguments: ["1", "4"])
    func interrupted(parallel: String) async throws {
        server.route("/slow") { _ in
            var response = FixtureResponse.text("slow")
            response.delay = 300
            return response
        }
        let running = try RunningCommand(
            ["--parallel", parallel, url("/slow?[1-9]")], in: folder.url, hasInput: false)
        try await server.events.next(.requestReceived("/slow?1"))
        running.process.interrupt()
        let (output, code) = await running.rest()
        #expect(code == 130 && output.isEmpty, "\(output)")
        #expect(server.requests.count <= 4)
    }

    @Test("credentials of the command line go to every URL, those of a URL to that one alone")
    func credentials() throws {
        let host = "127.0.0.1:\(server.port)"
        _ = try run("-a", "u:p", url("/anything/1"), url("/anything/2"))
        _ = try run("http://x:y@\(host)/anything/3", url("/anything/4"))
        let sent = server.requests.map { $0.field("Authorization") }
        #expect(sent == ["Basic dTpw", "Basic dTpw", "Basic eDp5", nil])
    }
}
