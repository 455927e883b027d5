import FixtureServer
import Foundation
import Synchronization
import Testing

@Suite("Retries, redirects and archives on the command line", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ExchangeOptionTests {
    let server: FixtureServer
    let folder: TemporaryFolder
    private let attempts = Counter()

    /// Counts what a server was asked.
    private final class Counter: Sendable {
        private let count = Atomic<Int>(0)
        func next() -> Int { count.add(1, ordering: .relaxed).newValue }
        var value: Int { count.load(ordering: .relaxed) }
    }

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    private func run(_ arguments: String...) throws -> CommandResult {
        try Command.run(arguments, in: folder.url)
    }

    /// Fails so many times, then answers.
    private func failing(_ count: Int, status: Int = 503) -> String {
        server.route("/flaky") { [attempts] _ in
            attempts.next() <= count
                ? FixtureResponse(status: status, fields: [("Retry-After", "0")]) : .text("there you are")
        }
        return server.url("/flaky").absoluteString
    }

    @Test("--retry tries again, for content and for files", arguments: [503, 429])
    func retry(status: Int) throws {
        let url = failing(1, status: status)
        let result = try run("--retry", "2", "--check-status", url)
        #expect(result.code == 0 && String(decoding: result.output, as: UTF8.self) == "there you are")
        #expect(attempts.value == 2)
    }

    @Test("with --retry content is printed as it comes, and only that of the response that stays")
    func retriedStream() async throws {
        server.route("/ticks") { [attempts] _ in
            if attempts.next() == 1 { return .text("busy", status: 503) }
            return FixtureResponse(
                fields: [("Content-Type", "text/event-stream")],
                body: .pieces(byteCount: nil) { $0 == 0 ? .bytes(Data("data: first\n\n".utf8)) : .wait(60) })
        }
        let running = try RunningCommand(
            ["--retry", "2", "--retry-delay", "0.01", "--print", "hb", server.url("/ticks").absoluteString],
            in: folder.url, hasInput: false)
        let printed = await running.read(until: "data: first\n")
        #expect(printed.contains("HTTP/1.1 200") && !printed.contains("busy"), "\(printed)")
        #expect(!printed.contains("HTTP/1.1 503"), "\(printed)")
        running.process.terminate()
        _ = await running.rest()
    }

    @Test("--retry for a download")
    func retriedDownload() throws {
        let url = failing(1)
        #expect(try run("--retry", "1", "-o", "file", url).code == 0)
        #expect(try String(contentsOf: folder.file("file"), encoding: .utf8) == "there you are")
    }

    @Test("a status that stays is the response, with its content and its exit code")
    func lasting() throws {
        server.route("/down") { [attempts] _ in
            _ = attempts.next()
            return .text("sorry", status: 503, fields: [("Retry-After", "0")])
        }
        let result = try run("--retry", "1", "--check-status", server.url("/down").absoluteString)
        #expect(result.code == 5 && String(decoding: result.output, as: UTF8.self) == "sorry")
        #expect(result.errors.contains("the status is 503; retry 1 of 1 in "), "\(result.errors)")
        #expect(result.errors.hasSuffix("fireweed: the status is 503\n"), "\(result.errors)")
        #expect(attempts.value == 2)
    }

    @Test("--retry-max-time begins no retry after its end, and says so")
    func maximumRetryTime() throws {
        server.route("/down") { [attempts] _ in
            _ = attempts.next()
            return .text("sorry", status: 503)
        }
        let url = server.url("/down").absoluteString
        let result = try run("--retry", "3", "--retry-delay", "300", "--retry-max-time", "200", url)
        #expect(result.code == 0 && String(decoding: result.output, as: UTF8.self) == "sorry", "\(result.errors)")
        #expect(attempts.value == 1 && result.errors.contains("--retry-max-time"), "\(result.errors)")
    }

    /// A lower bound of time holds on a machine of any load.
    @Test("--retry-delay is how long each retry waits, unless the server says")
    func retryDelay() throws {
        server.route("/busy") { [attempts] _ in
            attempts.next() <= 2 ? FixtureResponse(status: 503) : .text("there you are")
        }
        let start = ContinuousClock.now
        let result = try run("--retry", "2", "--retry-delay", "0.4", server.url("/busy").absoluteString)
        #expect(result.code == 0 && String(decoding: result.output, as: UTF8.self) == "there you are")
        #expect(result.errors.contains("retry 1 of 2 in 0.4 s") && result.errors.contains("retry 2 of 2 in 0.4 s"))
        #expect(ContinuousClock.now - start >= .milliseconds(800))
    }

    @Test(
        "a Retry-After of more than a minute is waited for by a curl command, and natively within --retry-delay",
        arguments: [
            (["--retry", "1"], "not tried again: the server asks to wait for longer than a minute"),
            (["--retry", "1", "--retry-delay", "100"], "retry 1 of 1 in 100.0 s"),
            (["--from-curl", "curl --retry 1"], "retry 1 of 1 in 7"),
        ])
    func longDelay(options: [String], told: String) async throws {
        server.route("/busy") { _ in .text("", status: 503, fields: [("Retry-After", "70")]) }
        let url = server.url("/busy").absoluteString
        let isCURL = options.first == "--from-curl"
        let arguments = isCURL ? [options[0], "\(options[1]) \(url)"] : options + [url]
        let running = try RunningCommand(arguments, hasInput: false)
        #expect(await running.read(until: told).contains(told))
        running.process.terminate()
    }

    @Test(
        "--retry-delay is the least delay, whatever Retry-After says",
        arguments: ["0", "Sun, 06 Nov 1994 08:49:37 GMT"])
    func leastDelay(value: String) throws {
        server.route("/soon") { [attempts] _ in
            attempts.next() <= 1 ? .text("", status: 503, fields: [("Retry-After", value)]) : .text("there you are")
        }
        let result = try run("--retry", "1", "--retry-delay", "0.3", server.url("/soon").absoluteString)
        #expect(result.code == 0 && result.errors.contains("retry 1 of 1 in 0.3 s"), "\(result.errors)")
    }

    @Test("without --retry, and for a POST, there is one attempt")
    func noRetry() throws {
        let url = failing(9)
        #expect(try run("--check-status", url).code == 5)
        let posted = try run("--retry", "3", "--check-status", "POST", url, "a=b")
        #expect(posted.code == 5 && posted.errors.contains("a POST could take effect twice"), "\(posted.errors)")
        #expect(attempts.value == 2)
    }

    @Test("--max-redirects is how many are followed")
    func redirects() throws {
        let url = server.url("/relative-redirect/3").absoluteString
        #expect(try run("--max-redirects", "3", url).code == 0)
        let tooMany = try run("--max-redirects=2", url)
        #expect(tooMany.code == 6 && tooMany.errors.contains("redirects"))
        #expect(try run("--max-redirects", "-1", url).code == 64)
    }

    @Test("--har records every hop, without secrets")
    func archive() throws {
        let url = server.url("/redirect/1?token=hidden").absoluteString
        #expect(try run("--har", "x.har", "-a", "u:hidden", url).code == 0)
        let data = try Data(contentsOf: folder.file("x.har"))
        let log = (try JSONSerialization.jsonObject(with: data) as? [String: Any])?["log"] as? [String: Any]
        let entries = try #require(log?["entries"] as? [[String: Any]])
        let statuses = entries.map { ($0["response"] as? [String: Any])?["status"] as? Int }
        #expect(statuses == [302, 200])
        #expect(!String(decoding: data, as: UTF8.self).contains("hidden"))
    }

    @Test("--har records what failed, and says when it cannot be written")
    func failedArchive() throws {
        #expect(try run("--har", "x.har", "http://127.0.0.1:1/").code == 6)
        #expect(FileManager.default.fileExists(atPath: folder.file("x.har").path))
        let unwritable = try run("--har", "nowhere/x.har", server.url("/get").absoluteString)
        #expect(unwritable.code == 1 && unwritable.errors.contains("nowhere/x.har"))
    }
}
