import FixtureServer
import Foundation
import Testing

@testable import FireweedCLI

@Suite("fireweed serve with files", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ServeTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func address(_ text: String) throws -> String {
        try #require(text.firstMatch(of: /http:\/\/127\.0\.0\.1:[0-9]+/).map { String($0.output) })
    }

    /// Starts `fireweed serve`; and the URL that it says.
    private func start(_ arguments: String...) async throws -> (running: RunningCommand, url: String) {
        let running = try RunningCommand(["serve"] + arguments, in: folder.url)
        return (running, try address(await running.read(until: "\n")))
    }

    private func get(_ url: String, _ fields: String...) throws -> (status: String, content: String, head: String) {
        let result = try Command.run(["--print", "hb", url] + fields, in: folder.url)
        let text = String(decoding: result.output, as: UTF8.self)
        let halves = text.components(separatedBy: "\n\n")
        let content = halves.count > 1 ? halves[1] : ""
        return (String(text.dropFirst("HTTP/1.1 ".count).prefix(3)), content, halves[0])
    }

    @Test(
        "a folder's files come in ranges",
        arguments: [
            ("bytes=2-4", "206", "234", "bytes 2-4/10"), ("bytes=7-", "206", "789", "bytes 7-9/10"),
            ("bytes=-3", "206", "789", "bytes 7-9/10"), ("bytes=8-99", "206", "89", "bytes 8-9/10"),
            ("bytes=10-", "416", "no such range\n", "bytes */10"), ("bytes=1-2,4-5", "200", "0123456789", nil),
            ("bytes=4-2", "200", "0123456789", nil), ("lines=1-2", "200", "0123456789", nil),
        ] as [(String, String, String, String?)])
    func ranges(range: String, status: String, content: String, place: String?) async throws {
        try Data("0123456789".utf8).write(to: folder.file("digits"))
        let (running, url) = try await start("0", ".")
        defer { running.process.terminate() }
        let answer = try get("\(url)/digits", "Range:\(range)")
        #expect(answer.status == status && answer.content == content, "\(answer)")
        #expect(answer.head.contains("Content-Range: ") == (place != nil))
        if let place { #expect(answer.head.contains("Content-Range: \(place)")) }
    }

    @Test("conditions are answered: 304 for what has not changed, 412 for what has, the whole for another version")
    func conditions() async throws {
        try Data("0123456789".utf8).write(to: folder.file("digits"))
        let (running, url) = try await start("0", ".")
        defer { running.process.terminate() }
        let file = "\(url)/digits"
        let head = try get(file).head
        let tag = try #require(head.firstMatch(of: /ETag: (.*)/).map { String($0.1) })
        let date = try #require(head.firstMatch(of: /Last-Modified: (.*)/).map { String($0.1) })
        for (fields, status) in [
            (["If-None-Match:\(tag)"], "304"), (["If-None-Match:W/\(tag)"], "304"), (["If-None-Match:\"x\""], "200"),
            (["If-Modified-Since:\(date)"], "304"), (["If-Modified-Since:Wed, 21 Oct 2015 07:28:00 GMT"], "200"),
            (["If-Match:\"x\""], "412"), (["If-Match:\(tag)"], "200"),
            (["If-Unmodified-Since:Wed, 21 Oct 2015 07:28:00 GMT"], "412"),
            (["Range:bytes=0-1", "If-Range:\(tag)"], "206"), (["Range:bytes=0-1", "If-Range:\"x\""], "200"),
        ] {
            let result = try Command.run(["--print", "h", file] + fields, in: folder.url)
            let line = String(decoding: result.output, as: UTF8.self).prefix { $0 != "\n" }
            #expect(line.hasPrefix("HTTP/1.1 \(status)"), "\(fields): \(line)")
        }
    }

    @Test("--status answers every request, and --delay waits before it")
    func status() async throws {
        let (running, url) = try await start("--status", "503", "--delay", "0.2", "0")
        defer { running.process.terminate() }
        let start = ContinuousClock.now
        #expect(try get("\(url)/any").status == "503")
        #expect(ContinuousClock.now - start >= .milliseconds(200))
        for wrong in [["--status", "99"], ["--delay", "1"], ["--status", "404", "0", "."]] {
            #expect(try Command.run(["serve"] + wrong, in: folder.url).code == 64, "\(wrong)")
        }
    }
}
