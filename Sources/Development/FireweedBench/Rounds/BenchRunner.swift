// The run of all rounds, alternating between the clients.

import FixtureServer
import Foundation

/// Measures all wanted scenarios and writes the report.
struct BenchRunner {
    private let rounds = ProcessInfo.processInfo.environment["BENCH_ROUNDS"].flatMap(Int.init) ?? 5
    private let only = ProcessInfo.processInfo.environment["BENCH_ONLY"]?.split(separator: ",").map(String.init) ?? []

    func run() throws {
        let servers = try BenchServers()
        var rows: [ReportRow] = []
        write([Report.head])
        for scenario in Scenario.all where isWanted(scenario) {
            var measured: [Client: [Measurement]] = [:]
            let clients = try scenario.clients.filter { try isWanted($0) && isAvailable($0) }
            for round in 1...max(1, rounds) {
                for client in clients {
                    FileHandle.standardError.write(
                        Data("\(scenario.name) round \(round) of \(rounds): \(client.rawValue)\n".utf8))
                    measured[client, default: []].append(try measure(scenario, client, servers))
                }
            }
            let measuredRows = Report.rows(scenario, measured)
            write(Report.lines(measuredRows))
            rows += measuredRows
        }
        if let growth = Report.growth(rows) { write([growth]) }
        if only.isEmpty || only.contains("neighbours") { write(try neighbours(servers)) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(rows).write(to: URL(fileURLWithPath: ".build/bench.json"))
        withExtendedLifetime(servers) {}
    }

    /// Writes lines without buffering, so that a later failure does not lose them.
    private func write(_ lines: [String]) {
        FileHandle.standardOutput.write(Data(lines.map { $0 + "\n" }.joined().utf8))
    }

    /// Measures requests during the work of another session, and returns a line of the report for each kind of work.
    private func neighbours(_ servers: BenchServers) throws -> [String] {
        var idle: NeighbourRound.Times?
        return try NeighbourRound.Work.allCases.map { work in
            let urls = try servers.neighbourURLs().map(\.absoluteString)
            let times: NeighbourRound.Times = try run(
                "/proc/self/exe", ["neighbour", work.rawValue] + urls, servers, name: "neighbour \(work)")
            idle = idle ?? times
            return Report.neighbour(work, times, idle: idle ?? times)
        }
    }

    private func measure(_ scenario: Scenario, _ client: Client, _ servers: BenchServers) throws -> Measurement {
        let url = try servers.url(for: scenario, client)
        let (program, arguments) =
            switch client {
            case .pythonWebSockets: ("/usr/bin/python3", PythonRound.arguments(scenario, url))
            case .goNetHTTP: (GoRound.program, GoRound.arguments(scenario, url))
            default: ("/proc/self/exe", ["round", scenario.name, client.rawValue, url.absoluteString])
            }
        return try run(program, arguments, servers, name: "\(client.rawValue) in \(scenario.name)")
    }

    /// Runs a round in a separate process, and decodes the JSON that it writes.
    private func run<Result: Decodable>(
        _ program: String, _ arguments: [String], _ servers: BenchServers, name: String
    ) throws -> Result {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program).resolvingSymlinksInPath()
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(servers.environment) { $1 }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.contentToEnd()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw RoundError(text: "\(name) failed") }
        return try JSONDecoder().decode(Result.self, from: data)
    }

    /// Whether the client can run here; Go's program is built first.
    private func isAvailable(_ client: Client) throws -> Bool {
        guard client == .goNetHTTP else { return true }
        guard GoRound.isInstalled else {
            write(["\(client.rawValue) is left out: Go is not installed"])
            return false
        }
        try GoRound.build()
        return true
    }

    private func isWanted(_ scenario: Scenario) -> Bool {
        let names = Scenario.all.map(\.name)
        let wanted = only.filter { names.contains($0) || $0 == "neighbours" }
        return wanted.isEmpty || wanted.contains(scenario.name)
    }

    private func isWanted(_ client: Client) -> Bool {
        let wanted = only.filter { Client(rawValue: $0) != nil }
        return wanted.isEmpty || wanted.contains(client.rawValue) || client.isReference
    }
}
