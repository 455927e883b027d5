import FixtureServer
import Foundation
import Testing

@Suite("--select and --expect on the command line", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SelectionTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    private func run(_ arguments: String...) throws -> CommandResult {
        try Command.run(arguments, in: folder.url)
    }

    private func url(_ content: [UInt8], type: String) -> String {
        server.route("/content") { _ in
            FixtureResponse(status: 200, fields: [("Content-Type", type)], body: .data(Data(content)))
        }
        return server.url("/content").absoluteString
    }

    @Test("--quiet prints no selected values, and fails when there are none", arguments: ["-q", "-h"])
    func quietSelection(option: String) throws {
        let url = url(Array(#"{"a": 1}"#.utf8), type: "application/json")
        let found = try run(option, "--select", ".a", url)
        #expect(found.code == 0 && !String(decoding: found.output, as: UTF8.self).contains("1\n"), "\(found)")
        let missing = try run(option, "--select", ".b", url)
        #expect(missing.code == 1 && missing.errors == "fireweed: --select: there is nothing at .b\n", "\(missing)")
    }

    @Test(
        "what --select reads --expect reads, whatever the character set and the layout",
        arguments: [
            ([0xEF, 0xBB, 0xBF] + Array(#"{"a": "é"}"#.utf8), "application/json"),
            (Array("{\"a\": \"".utf8) + [0xE9] + Array("\"}".utf8), "application/json; charset=iso-8859-1"),
            (
                Array("{\"a\": \"é\"}".utf16).flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] },
                "text/json; charset=utf-16le"
            ),
            (Array("{\"a\": \"é\"}\n{\"a\": \"é\"}\n".utf8), "application/x-ndjson"),
        ] as [([UInt8], String)])
    func characterSets(content: [UInt8], type: String) throws {
        let url = url(content, type: type)
        let result = try run(url, "--select", ".a", "--expect", "json.a==é", "--expect", "body~=é")
        #expect(result.code == 0 && String(decoding: result.output, as: UTF8.self).hasPrefix("é\n"), "\(result)")
        let fetched = try run("fetch", url, "--expect", "json.a==é")
        #expect(fetched.code == 0, "\(fetched)")
    }

    @Test("--response-charset is for --expect too")
    func responseCharset() throws {
        let url = url([0xE9], type: "text/plain; charset=utf-8")
        #expect(try run(url, "--response-charset", "latin1", "--expect", "body==é").code == 0)
    }

    @Test("with --retry the time is that of all attempts")
    func timeOfAttempts() throws {
        let asked = EventLog<Int>()
        server.route("/busy") { _ in
            asked.note(1)
            return asked.events.count % 2 == 1 ? .text("no", status: 503) : .text("yes")
        }
        let busy = server.url("/busy").absoluteString
        let retry = ["--retry", "1", "--retry-delay", "0.4", "--expect", "time>=0.4"]
        let printed = try Command.run(["-m", busy] + retry, in: folder.url)
        #expect(printed.code == 0 && printed.errors.contains("retry 1 of 1"), "\(printed)")
        let saved = try Command.run(["-o", "file", busy] + retry, in: folder.url)
        #expect(saved.code == 0 && !saved.errors.contains("in 0.0 s"), "\(saved)")
        let fetched = try Command.run(["fetch", busy] + retry, in: folder.url)
        #expect(fetched.code == 0, "\(fetched)")
        #expect(asked.events.count == 6)
    }

    @Test("an item of fetch that the cache answers is not shown as a request")
    func cachedItem() throws {
        server.route("/fresh") { _ in .text("yes", fields: [("Cache-Control", "max-age=60")]) }
        let fresh = server.url("/fresh").absoluteString
        let result = try Command.run(
            ["fetch", "-v", "--cache", "--jobs", "1", fresh, fresh], in: folder.url,
            environment: ["XDG_CACHE_HOME": folder.url.path])
        #expect(result.errors.ranges(of: "GET /fresh").count == 1, "\(result)")
        #expect(result.errors.contains("* cache: miss\n") && result.errors.contains("* cache: hit\n"), "\(result)")
    }
}
