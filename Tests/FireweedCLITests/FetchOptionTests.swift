import Fireweed
import FixtureServer
import Foundation
import Testing

@testable import FireweedCLI

@Suite("Options of single requests with fireweed fetch", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FetchOptionTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    private func run(_ arguments: String..., input: String? = nil) throws -> CommandResult {
        try Command.run(["fetch", "--jobs", "1"] + arguments, in: folder.url, input: input)
    }

    private func url(_ path: String) -> String { server.url(path).absoluteString }

    /// The records in their order.
    private func records(_ result: CommandResult) throws -> [[String: Any]] {
        try String(decoding: result.output, as: UTF8.self).split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
        }
    }

    @Test("fetch -a has credentials for every request of the list without its own, and none for other origins")
    func credentials() throws {
        let other = try FixtureServer.start()
        let away = url("/redirect-to?url=\(other.url("/anything").absoluteString)")
        let own = url("/basic-auth/me/mine").replacing("://", with: "://me:mine@")
        let result = try run("-a", "u:p", url("/basic-auth/u/p"), own, away)
        #expect(try records(result).map { $0["status"] as? Int } == [200, 200, 200], "\(result.errors)")
        #expect(other.requests.allSatisfy { $0.field("Authorization") == nil } && other.requests.count == 1)
        let digest = try run("-A", "digest", "-a", "u:p", url("/digest-auth/auth/u/p"))
        #expect(try records(digest).first?["status"] as? Int == 200)
        let field = """
            {"url": "\(url("/get"))", "headers": {"Authorization": "own"}}
            \(url("/get"))
            """
        _ = try run("-A", "bearer", "-a", "token", input: field)
        #expect(server.requests.suffix(2).map { $0.field("Authorization") } == ["own", "Bearer token"])
    }

    @Test("repeated fields are judged one by one, as they are for a single request", arguments: [[], ["fetch"]])
    func repeatedFields(command: [String]) throws {
        server.route("/twice") { _ in .text("", fields: [("A", "1"), ("A", "2")]) }
        for (expectation, isMet) in [("header.a==2", true), ("header.a!=1", false), ("header.a==1, 2", false)] {
            let result = try Command.run(command + [url("/twice"), "--expect", expectation], in: folder.url)
            #expect((result.code == 0) == isMet, "\(expectation): \(result.errors)")
        }
    }

    @Test("an expectation that does not hold is told beside a selection that finds nothing")
    func selectionOfAnError() throws {
        let result = try run("--select", "p", "--expect", "status==200", url("/status/404"))
        let error = try records(result).first?["error"] as? String
        #expect(error?.hasPrefix("expected status==200, but the status is 404; ") == true, "\(result)")
    }

    @Test("fetch --save asks for nothing that it cannot save: a link without a target is in the way")
    func link() throws {
        let taken = folder.file("d/0000001-get")
        try FileManager.default.createDirectory(at: folder.file("d"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(at: taken, withDestinationURL: folder.file("elsewhere"))
        let result = try run("--save", "d", url("/get"))
        #expect(try (records(result).first?["error"] as? String)?.contains("is there already") == true)
        #expect(server.requests.isEmpty)
    }

    @Test("fetch --session sends what a session has for an origin, and keeps its cookies")
    func session() throws {
        let keep = ["--session", "./s", "-a", "u:p", url("/basic-auth/u/p"), "X-Kept:1"]
        #expect(try Command.run(keep, in: folder.url).code == 0)
        let result = try run(
            "--session", "./s", url("/cookies/set?a=1"), url("/basic-auth/u/p"), url("/get"), "X-New:2")
        #expect(try records(result).last?["status"] as? Int == 200)
        let last = try #require(server.requests.last)
        #expect(last.field("X-Kept") == "1" && last.field("X-New") == "2" && last.field("Cookie") == "a=1")
        _ = try run("--session-read-only", "./s", url("/cookies/set?b=2"))
        _ = try Command.run(["--session", "./s", url("/get")], in: folder.url)
        let after = try #require(server.requests.last)
        #expect(after.field("Cookie") == "a=1" && after.field("X-New") == nil)
    }

    @Test("fetch --expect makes an error of a response that is not as expected, and --continue asks again")
    func expectations() throws {
        let expect = ["--expect", "status==200", "--expect", "json.method==GET"]
        let arguments = ["fetch", "-o", "records", "--jobs", "1", url("/anything"), url("/status/404")]
        let result = try Command.run(arguments + expect, in: folder.url)
        #expect(result.code == 1 && result.errors == "fireweed: 1 of 2 failed; their records have the error\n")
        let data = try Data(contentsOf: folder.file("records"))
        let made = try records(CommandResult(output: data, errors: "", code: 0))
        #expect(made[0]["error"] == nil && made[1]["status"] as? Int == 404)
        let error =
            "expected status==200, but the status is 404; expected json.method==GET, but the content is not JSON"
        #expect(made[1]["error"] as? String == error)
        let count = server.requests.count
        #expect(try Command.run(arguments + expect + ["--continue"], in: folder.url).code == 1)
        #expect(server.requests.count == count + 1)
        #expect(try run("--save", "d", "--expect", "body~=x", url("/get")).code == 64)
        let saved = try run("--save", "d", "--expect", "header.content-type~=xml", url("/get"))
        #expect(try saved.code == 1 && records(saved)[0]["file"] != nil)
    }

    @Test("fetch --continue finds the error of a record whose URL or id is long")
    func longRecord() throws {
        let long = String(repeating: "i", count: 300_000)
        let lines = [
            "{\"url\": \"\(url("/status/500"))\", \"id\": \"\(long)\"}", url("/status/500?\(long.prefix(7_000))"),
        ]
        for line in lines {
            try? FileManager.default.removeItem(at: folder.file("records"))
            for count in 1...2 {
                let before = server.requests.count
                let result = try Command.run(
                    ["fetch", "--from", "-", "--expect", "status==200", "-o", "records", "--continue"],
                    in: folder.url, input: "\(line)\n")
                #expect(result.code == 1 && server.requests.count == before + 1, "run \(count): \(result.errors)")
            }
        }
    }

    @Test("a record has text in the character set that it declares, and other bytes as base64")
    func characterSets() throws {
        // The bytes of the last two are UTF-8 too, with another text.
        for (bytes, charset, text) in [
            (Data([0x7A, 0xE4]), "iso-8859-1", "zä"), (Data([0x7A, 0xE4]), "utf-8", nil),
            (Data([0xC3, 0xBC]), "iso-8859-1", "Ã¼"), (Data("h\0i\0".utf8), "UTF-16LE", "hi"),
        ] as [(Data, String, String?)] {
            server.route("/text") { _ in
                FixtureResponse(fields: [("Content-Type", "text/plain; charset=\(charset)")], body: .data(bytes))
            }
            let value = try records(run(url("/text"))).first?[text == nil ? "body_base64" : "body"] as? String
            #expect(value == text ?? bytes.base64EncodedString())
        }
    }

    @Test("control characters of a record are escapes, in selected JSON too", arguments: [[], ["--select", "a"]])
    func controls(options: [String]) throws {
        let text = "\u{9B}31m\u{7F}\u{A0}ü\u{85}"
        server.route("/json") { _ in
            FixtureResponse(
                fields: [("Content-Type", "application/json")], body: .data(Data("{\"a\": \"\(text)\"}".utf8)))
        }
        let result = try Command.run(["fetch", url("/json")] + options, in: folder.url)
        let line = String(decoding: result.output, as: UTF8.self)
        #expect(line.contains(#"\u009b31m\u007f"# + "\u{A0}ü" + #"\u0085"#), "\(line)")
        #expect(!line.unicodeScalars.contains { (0x7F...0x9F).contains($0.value) })
        #expect(try records(result).count == 1)
    }

    @Test("content is decoded whatever -o names: the records' file, or none")
    func codings() throws {
        for options in [[], ["-o", "records"], ["-o", "records2", "--save", "d"]] {
            let result = try Command.run(
                ["fetch", "--expect", "json.gzipped==true", url("/gzip")] + options, in: folder.url)
            #expect(result.code == (options.contains("--save") ? 64 : 0), "\(result.errors)")
        }
        let records = String(decoding: try Data(contentsOf: folder.file("records")), as: UTF8.self)
        #expect(records.contains("\"body\": ") && !records.contains("body_base64"))
        #expect(try Command.run(["fetch", "-o", "r3", "--save", "d", url("/gzip")], in: folder.url).code == 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.file("d").path)
        let saved = try Data(contentsOf: folder.file("d").appendingPathComponent(try #require(names.first)))
        #expect(saved.starts(with: "{".utf8))
    }

    @Test("credentials that are typed replace a field that a session has kept, for good", arguments: [false, true])
    func credentials(fetches: Bool) throws {
        let session = ["--session", "./s"]
        func sent(_ arguments: String...) throws -> String? {
            let command = (fetches ? ["fetch"] : []) + session + arguments
            #expect(try Command.run(command, in: folder.url).code == 0)
            return server.requests.last?.field("Authorization")
        }
        #expect(try Command.run(session + [url("/get"), "Authorization:own"], in: folder.url).code == 0)
        #expect(try sent(url("/get")) == "own")
        #expect(try sent("-A", "bearer", "-a", "token", url("/get")) == "Bearer token")
        let basic = "Basic \(Data("e:f".utf8).base64EncodedString())"
        #expect(try sent("http://e:f@127.0.0.1:\(server.port)/get") == basic)
        if !fetches { #expect(try sent(url("/get")) == basic) }
    }

    @Test("several values of a field are one line of a list, and of cookies one line of pairs")
    func severalValues() throws {
        let line = #"{"url": "\#(url("/get"))", "headers": {"Cookie": ["a=1", "b=2"], "X-E": [], "X-L": ["a", 2]}}"#
        #expect(try run("--from", "-", input: line).code == 0)
        let request = try #require(server.requests.last)
        #expect(request.field("Cookie") == "a=1; b=2" && request.field("X-E") == nil && request.field("X-L") == "a, 2")
    }

    @Test("fetch --continue asks again for what failed, and not for content that speaks of an error")
    func continued() throws {
        server.route("/error") { _ in .text(#"{"a": 1, "error": "text", "b": {"error": "deep"}}"#) }
        for _ in 0..<3 {
            let arguments = ["fetch", "-o", "records", "--continue", "--select", ".", url("/error")]
            #expect(try Command.run(arguments, in: folder.url).code == 0)
        }
        #expect(server.requests.count == 1)
    }

    @Test("fetch --select puts a part of the content into the record, in place of the content")
    func selection() throws {
        server.route("/items") { _ in .text(#"{"n": [{"id": 1.50}, {"id": "a\nb"}]}"#) }
        let one = try records(run("--select", ".n[1].id", url("/items")))[0]
        #expect(one["selected"] as? String == "a\nb" && one["body"] == nil && one["bytes"] as? Int == 37)
        let all = try run("--select", ".n[].id", url("/items"))
        #expect(String(decoding: all.output, as: UTF8.self).contains(#""selected": [1.50, "a\nb"]"#))
        let none = try run("--select", ".x", url("/items"), url("/html"))
        #expect(none.code == 1)
        let errors = try records(none).map { $0["error"] as? String }
        #expect(errors == ["--select: there is nothing at .x", "--select: the content is not JSON"])
        #expect(try run("--select", ".x", "--omit-body", url("/items")).code == 64)
    }

    @Test("fetch -v shows the heads of every exchange on standard error")
    func verbose() throws {
        let result = try run("-v", url("/redirect/1"), "X-Mine:1")
        let lines = result.errors.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let starts = lines.filter { $0.hasPrefix("GET ") || $0.hasPrefix("HTTP/1.1 ") }
        #expect(starts == ["GET /redirect/1 HTTP/1.1", "HTTP/1.1 302 Found", "GET /get HTTP/1.1", "HTTP/1.1 200 OK"])
        #expect(lines.count { $0 == "X-Mine: 1" } == 2 && lines.count { $0 == "Host: 127.0.0.1:\(server.port)" } == 2)
        #expect(lines.contains("Accept: */*"))
        #expect(try records(result).count == 1)
        #expect(try !run("-v", url("/get"), "Accept:").errors.contains("Accept: "))
    }

    @Test("a closed standard error is as if nobody read it, and a closed standard output is a failure")
    func closedStreams() throws {
        let silent = try Command.run(script: "\"$0\" fetch -v \(url("/get")) 2>&-", in: folder.url)
        #expect(try silent.code == 0 && records(silent).count == 1)
        let failed = try Command.run(script: "\"$0\" \(url("/get")) >&-", in: folder.url)
        #expect(failed.code == 1 && failed.errors.contains("standard output cannot be written"), "\(failed.errors)")
    }

    @Test("fetch -q prints the records of failures alone, and its journal has the others too")
    func quiet() throws {
        let arguments = ["-q", "--journal", "j", "--expect", "status==200", url("/get"), url("/status/500")]
        let result = try Command.run(["fetch"] + arguments, in: folder.url)
        #expect(try records(result).map { $0["status"] as? Int } == [500] && result.code == 1)
        let count = server.requests.count
        _ = try Command.run(["fetch", "--continue"] + arguments, in: folder.url)
        #expect(server.requests.count == count + 1)
        let saved = try run("-q", "-o", "all", url("/get"))
        #expect(saved.output.isEmpty && saved.errors.isEmpty)
        #expect(try !Data(contentsOf: folder.file("all")).isEmpty)
    }
}
