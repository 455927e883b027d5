import FixtureServer
import Foundation
import Testing

/// Counts, not times: a busy machine changes none of them by much.
@Suite("Cost of one request", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CostTests {
    @Test("allocations stay few")
    func allocations() async throws {
        let server = try NginxServer()
        let url = server.url.appendingPathComponent("small").absoluteString
        let text = try await run(TestPrograms.url.path, ["cost", url, "2000"]).trimmingCharacters(
            in: .whitespacesAndNewlines)
        let count = try #require(Double(text))
        // A debug build makes a third more than an optimised one.
        #expect(count / 2000 < allocationLimit)
    }

    @Test("a stub's allocations stay few")
    func stubAllocations() async throws {
        let text = try await run(TestPrograms.url.path, ["cost", "stub", "2000"]).trimmingCharacters(
            in: .whitespacesAndNewlines)
        let count = try #require(Double(text))
        #expect(count / 2000 < stubAllocationLimit)
    }

    @Test("system calls stay few")
    func systemCalls() async throws {
        let server = try NginxServer()
        let url = server.url.appendingPathComponent("small").absoluteString
        // Whether the loop sleeps when a request comes is the scheduler's choice, so that two runs differ by nearly one
        // wake-up for each request that both have: those must be few. They are the hundred that are made first.
        let none = try await systemCalls(url, count: 0)
        let many = try await systemCalls(url, count: 1500)
        for (name, limit) in systemCallLimits {
            let each = Double(many[name, default: 0] - none[name, default: 0]) / 1500
            #expect(each <= limit, "\(name): \(each)")
        }
    }

    private let allocationLimit = 127.0
    /// Of a request that a stub answers, and of its place in the history.
    private let stubAllocationLimit = 130.0
    /// Sent and received once; the rest is the loop's sleep and its being woken, the task's.
    ///
    /// What wakes are done by can be a tenth above one for each request; a bound that stands half a call above is not
    /// broken by that.
    private let systemCallLimits = [
        "sendmsg": 1.05, "recvfrom": 1.05, "poll": 0.1, "epoll_ctl": 0.1, "epoll_wait": 6, "write": 1.6, "read": 1.6,
        "futex": 12,
    ]

    /// Calls by name, as strace(1) counts them.
    private func systemCalls(_ url: String, count: Int) async throws -> [String: Int] {
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("calls")
        _ = try await run(
            "strace",
            ["-f", "-c", "-U", "calls,name", "-o", file.path, TestPrograms.url.path, "cost", url, String(count)])
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        return lines.reduce(into: [:]) { calls, line in
            let columns = line.split(separator: " ")
            if columns.count == 2, let count = Int(columns[0]) { calls[String(columns[1])] = count }
        }
    }

    private func run(_ program: String, _ arguments: [String]) async throws -> String {
        let folder = try TemporaryFolder()
        let output = try await Program.run(program, arguments, in: folder.url)
        #expect(output.code == 0, "\(output.errors)")
        return output.text
    }
}
