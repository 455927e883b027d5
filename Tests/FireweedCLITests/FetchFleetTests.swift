import CommandLanguage
import FixtureServer
import Foundation
import Glibc
import Synchronization
import Testing

@testable import FireweedCLI

@Suite("fireweed fetch --fleet", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FetchFleetTests {
    private let redis: RedisServer
    private let server: FixtureServer
    private let folder: TemporaryFolder

    init() throws {
        redis = try RedisServer()
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    private func arguments(_ queue: String, _ others: String...) -> [String] {
        ["fetch", "--fleet", redis.url, "--queue", queue] + others
    }

    private func run(_ queue: String, _ others: String...) throws -> CommandResult {
        try Command.run(["fetch", "--fleet", redis.url, "--queue", queue] + others, in: folder.url)
    }

    private func url(_ path: String) -> String { "\(server.url.absoluteString)/\(path)" }

    /// The numbers of the items that a file of records has.
    private func indices(_ name: String) throws -> [Int] {
        let text = String(decoding: try Data(contentsOf: folder.file(name)), as: UTF8.self)
        return text.split(separator: "\n").compactMap { FetchJournal.entry(Array($0.utf8.prefix(80)))?.index }
    }

    @Test("four runs share 10,000 requests, two of them are killed, and every request has a record")
    func kills() async throws {
        let count = 10_000
        let jobs = 8
        let arrivals = EventLog<Int>()
        let seen = Mutex(0)
        server.route("/n") { _ in
            let number = seen.withLock {
                $0 += 1; return $0
            }
            if number.isMultiple(of: 1000) { arrivals.note(number) }
            return .text("x")
        }
        let list = (1...count).map { url("n?\($0)") }.joined(separator: "\n")
        try list.write(to: folder.file("list"), atomically: true, encoding: .utf8)
        // The first worker is killed while it adds the list; the second worker adds the rest.
        let workers = try (1...4).map { number in
            let own = number <= 2 ? ["--from", "list"] : []
            return try RunningCommand(
                arguments("crawl", "--jobs", "\(jobs)", "--omit-body", "--lease", "30", "-o", "records\(number)") + own,
                in: folder.url, hasInput: false)
        }
        try await arrivals.first { $0 == 1000 }
        kill(workers[0].process.processIdentifier, SIGKILL)
        try await arrivals.first { $0 == 3000 }
        kill(workers[2].process.processIdentifier, SIGKILL)
        let ends = [await workers[1].rest(), await workers[3].rest()]
        for end in ends { #expect(end.code == 0, "\(end.output)") }
        _ = [await workers[0].rest(), await workers[2].rest()]
        let records = try (1...4).map { try indices("records\($0)") }
        #expect(Set(records.joined()) == Set(1...count))
        // What has two records was written by a killed run that had not said so yet, and nothing else was asked for
        // twice than what was under way.
        let repeated = records.joined().count - count
        let requests = seen.withLock { $0 } - count
        #expect(repeated <= 2 * jobs && requests <= 2 * jobs, "\(repeated) records, \(requests) requests")
    }

    /// Closes all connections of clients to the server.
    private func killClients() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/redis-cli")
        process.arguments = ["-p", "\(redis.port)", "client", "kill", "type", "normal", "skipme", "yes"]
        process.standardOutput = FileHandle.nullDevice
        try process.start()
        process.waitUntilExit()
    }

    @Test("a server that stops for a while, and connections that are killed, cost no item, and no second record")
    func trouble() async throws {
        let count = 400
        let arrivals = EventLog<Int>()
        server.route("/n") { _ in
            arrivals.note(1)
            return .text("x")
        }
        try (1...count).map { url("n?\($0)") }.joined(separator: "\n")
            .write(to: folder.file("list"), atomically: true, encoding: .utf8)
        let running = try RunningCommand(
            arguments("list", "--from", "list", "--omit-body", "--lease", "1", "-o", "records"), in: folder.url,
            hasInput: false)
        try await arrivals.nth(50) { _ in true }
        redis.suspend()
        _ = await running.read(until: "It is tried again.")
        redis.resume()
        for step in 8..<40 {
            try await arrivals.nth(10 * step) { _ in true }
            try killClients()
        }
        let (output, code) = await running.rest()
        #expect(code == 0, "\(output)")
        #expect(try indices("records").sorted() == Array(1...count))
        // The replies to some commands were lost, and the run repeated what it had done already.
        #expect(!output.contains("have a record of another run") && !output.contains("came from runs"), "\(output)")
    }

    @Test("a run without a list takes what others have added, and a finished list is not begun again")
    func workers() async throws {
        let waiting = try RunningCommand(arguments("later"), in: folder.url, hasInput: false)
        #expect(try run("later", url("bytes/{1..3}"), "-o", "own").code == 0)
        let (output, code) = await waiting.rest()
        #expect(code == 0, "\(output)")
        let again = try run("later", url("bytes/{1..3}"), "-o", "again")
        #expect(again.code == 0 && again.errors == "fireweed: nothing was left to do\n", "\(again.errors)")
        #expect(server.requests.count == 3)
    }

    @Test("an interrupted run leaves its items to the others at once")
    func interruption() async throws {
        let arrivals = EventLog<Int>()
        server.route("/stuck") { _ in
            arrivals.note(1)
            return FixtureResponse(body: .pieces(byteCount: nil) { _ in .wait(0.05) })
        }
        let running = try RunningCommand(
            arguments(
                "list", url("stuck"), url("get"), "--jobs", "1", "--lease", "3600", "--timeout", "600", "-o", "first"),
            in: folder.url,
            hasInput: false)
        try await arrivals.first { _ in true }
        kill(running.process.processIdentifier, SIGTERM)
        let (output, code) = await running.rest()
        #expect(code == 143 && output.contains("the other runs of the queue go on"), "\(output)")
        server.route("/stuck") { _ in .text("free") }
        let rest = try run("list", url("stuck"), url("get"), "-o", "second")
        #expect(rest.code == 0, "\(rest.errors)")
        let (first, second) = (try indices("first"), try indices("second"))
        #expect(second.sorted() == [1, 2], "\(first), then \(second): \(rest.errors)")
    }

    @Test("the rate and the cache are those of all runs")
    func sharing() throws {
        server.route("/cached") { _ in .text("x", fields: [("Cache-Control", "public, max-age=60")]) }
        #expect(try run("a", url("cached"), "--cache", "-o", "a").code == 0)
        #expect(try run("b", url("cached"), "--cache", "-o", "b").code == 0)
        #expect(server.requests.count == 1)
        // A lower bound: the second run has to wait for the slot behind the first run's.
        var codes: [Int32] = []
        let time = try ContinuousClock().measure {
            for name in ["c", "d"] { codes.append(try run(name, url("get"), "--rate", "30/m", "-o", name).code) }
        }
        #expect(codes == [0, 0])
        #expect(time >= .seconds(2))
    }

    @Test("another list under the same name is refused")
    func otherList() async throws {
        let arrivals = EventLog<Int>()
        server.route("/stuck") { _ in
            arrivals.note(1)
            return FixtureResponse(body: .pieces(byteCount: nil) { _ in .wait(0.05) })
        }
        // Its list comes through a pipe that stays open, so that it is not complete.
        let first = try RunningCommand(
            arguments("list", "--from", "-", "--lease", "0.05", "-o", "first"), in: folder.url)
        try first.type("\(url("stuck"))\n")
        try await arrivals.first { _ in true }
        kill(first.process.processIdentifier, SIGKILL)
        _ = await first.rest()
        let other = try run("list", url("get"), "-o", "other")
        #expect(other.code == 1 && other.errors.contains("another list"), "\(other.errors)")
    }

    @Test("a server that is away and wrong options are told in words")
    func careless() throws {
        let away = try Command.run(
            ["fetch", "--fleet", "redis://127.0.0.1:1", "--queue", "a", url("get")], in: folder.url)
        #expect(away.code == 6 && away.errors.contains("cannot be reached"), "\(away.errors)")
        for wrong in [
            ["--fleet", redis.url], ["--queue", "a"], ["--lease", "5"],
            ["--fleet", "http://h.example", "--queue", "a"],
        ] {
            #expect(try Command.run(["fetch", url("get")] + wrong, in: folder.url).code == 64, "\(wrong)")
        }
    }

    @Test("a list is compared with what a queue has of it")
    func positions() {
        let lines = ["a", "b", "c"].map { Array($0.utf8) }
        let whole = FetchPosition().advanced(by: lines[...])
        var position = FetchPosition()
        (position.known, position.knownChecksum) = (2, FetchPosition().advanced(by: lines[..<2]).checksum)
        var batch = lines[...]
        position.skip(&batch)
        #expect(position.count == 2 && position.fits && Array(batch) == [lines[2]])
        #expect(position.advanced(by: batch).checksum == whole.checksum)
        var other = FetchPosition()
        (other.known, other.knownChecksum) = (2, position.checksum)
        batch = [lines[0], lines[2], lines[1]]
        other.skip(&batch)
        #expect(!other.fits)
    }

    @Test("lines keep their kind in a queue", arguments: [FetchLine.text([]), .text([0x3C]), .tooLong([0x3D, 0xFF])])
    func entries(line: FetchLine) {
        #expect(FetchLine(entry: line.entry) == line)
    }
}
