// Runs the rounds, alternating between the clients.

import FixtureServer
import Foundation

/// Measures every scenario and reports.
struct BenchRunner {
    private let rounds = ProcessInfo.processInfo.environment["BENCH_ROUNDS"].flatMap(Int.init) ?? 5
    private let only = ProcessInfo.processInfo.environment["BENCH_ONLY"]?.split(separator: ",").map(String.init) ?? []

    func run() throws {
        let server = try NginxServer()
        let file = server.documents.appendingPathComponent("1g")
        try makeBody(file)
        // Takes uploads and counts them, in this process: rounds measure their own.
        let sink = try FixtureServer.start()
        var rows: [ReportRow] = []
        for scenario in Scenario.all where isWanted(scenario) {
            var measured: [Client: [Measurement]] = [:]
            for round in 1...max(1, rounds) {
                for client in scenario.clients where isWanted(client) {
                    FileHandle.standardError.write(
                        Data("\(scenario.name) round \(round) of \(rounds): \(client.rawValue)\n".utf8))
                    measured[client, default: []].append(
                        try measure(scenario, client, scenario.path == "/upload" ? sink.url : server.url, file))
                }
            }
            rows += Report.rows(scenario, measured)
        }
        print(Report.table(rows))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(rows).write(to: URL(fileURLWithPath: ".build/bench.json"))
        withExtendedLifetime((server, sink)) {}
    }

    private func measure(_ scenario: Scenario, _ client: Client, _ url: URL, _ file: URL) throws -> Measurement {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["round", scenario.name, client.rawValue, url.absoluteString]
        process.environment = ProcessInfo.processInfo.environment.merging([UploadRound.fileVariable: file.path]) { $1 }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.contentToEnd()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw RoundError(text: "\(client.rawValue) failed in \(scenario.name)")
        }
        return try JSONDecoder().decode(Measurement.self, from: data)
    }

    private func isWanted(_ scenario: Scenario) -> Bool {
        let names = Scenario.all.map(\.name)
        let wanted = only.filter(names.contains)
        return wanted.isEmpty || wanted.contains(scenario.name)
    }

    private func isWanted(_ client: Client) -> Bool {
        let wanted = only.filter { Client(rawValue: $0) != nil }
        return wanted.isEmpty || wanted.contains(client.rawValue) || client == .libcurl || client == .libcurlForm
    }

    /// 1 GiB of zeros that take no room.
    private func makeBody(_ file: URL) throws {
        try Data().write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: 1 << 30)
        try handle.close()
    }
}
