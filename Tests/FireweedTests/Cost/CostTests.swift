import FixtureServer
import Foundation
import Testing

/// Counts, not times: a busy machine changes none of them by much.
@Suite("What one request costs", .timeLimit(.minutes(Patience.minutes)))
struct CostTests {
    @Test("allocations stay few")
    func allocations() throws {
        let server = try NginxServer()
        let url = server.url.appendingPathComponent("small").absoluteString
        let count = try #require(Double(try run(probe, [url, "2000"]).trimmingCharacters(in: .whitespacesAndNewlines)))
        // Of these, libcurl's own are about 37; a debug build makes a third more than an optimised one.
        #expect(count / 2000 < allocationLimit)
    }

    @Test("system calls stay few")
    func systemCalls() throws {
        let server = try NginxServer()
        let url = server.url.appendingPathComponent("small").absoluteString
        let few = try systemCalls(url, count: 500)
        let many = try systemCalls(url, count: 1500)
        for (name, limit) in systemCallLimits {
            let each = Double(many[name, default: 0] - few[name, default: 0]) / 1000
            #expect(each <= limit, "\(name): \(each)")
        }
    }

    private let allocationLimit = 160.0
    /// Sent and received once; the rest is the loop's sleep and its being woken, the task's, and libcurl's look for dead connections.
    private let systemCallLimits = [
        "sendto": 1.05, "recvfrom": 1.05, "poll": 2.1, "epoll_ctl": 1, "epoll_wait": 6, "write": 1.5, "read": 1.5,
        "futex": 12,
    ]

    private var probe: URL { Bundle.main.bundleURL.appendingPathComponent("CostProbe") }

    /// Calls by name, as strace(1) counts them.
    private func systemCalls(_ url: String, count: Int) throws -> [String: Int] {
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("calls")
        _ = try run(
            URL(fileURLWithPath: "/usr/bin/strace"),
            ["-f", "-c", "-U", "calls,name", "-o", file.path, probe.path, url, String(count)])
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        return lines.reduce(into: [:]) { calls, line in
            let columns = line.split(separator: " ")
            if columns.count == 2, let count = Int(columns[0]) { calls[String(columns[1])] = count }
        }
    }

    private func run(_ program: URL, _ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        try process.start()
        let text = output.fileHandleForReading.contentToEnd()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return String(decoding: text, as: UTF8.self)
    }
}
