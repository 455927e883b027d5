// Benchmarks: the clients of each scenario run alternately, and each round of a client is a separate process.
//
// Environment variables:
// - BENCH_ROUNDS: the number of rounds; 5 by default.
// - BENCH_ONLY: the scenarios or clients to measure, separated by commas; `neighbours` for the rounds of that name.
//
// Arguments, for the separate processes, and for a profiler:
// - `round SCENARIO CLIENT URL [COUNT]`: one round.
// - `neighbour WORK URL URL URL`: the requests of one session while another session of the process does WORK; the URLs
//   are those of a server in clear text, of a server with TLS, and of a slow one.
// - `growth KIND URL COUNT`: COUNT requests under a condition of `GrowthRound.Kind`.

import CBareLoop
import FixtureServer
import Foundation

let arguments = CommandLine.arguments
if arguments.count >= 5, arguments[1] == "round" {
    let count = arguments.count > 5 ? Int(arguments[5]) : nil
    guard let scenario = Scenario.named(arguments[2])?.limited(to: count), let client = Client(rawValue: arguments[3]),
        let url = URL(string: arguments[4])
    else { exit(64) }
    // This thread is bound to the core before it starts other threads, since they inherit the binding.
    if client == .oneCore, fw_stay_on_core(fw_first_core()) != 0 { exit(71) }
    let measurement = try await Round(scenario: scenario, client: client, url: url).run()
    FileHandle.standardOutput.write(try JSONEncoder().encode(measurement))
    exit(0)
}
if arguments.count == 6, arguments[1] == "neighbour" {
    guard let work = NeighbourRound.Work(rawValue: arguments[2]), let plain = URL(string: arguments[3]),
        let secure = URL(string: arguments[4]), let slow = URL(string: arguments[5])
    else { exit(64) }
    let times = try await NeighbourRound(work: work, plain: plain, secure: secure, slow: slow).run()
    FileHandle.standardOutput.write(try JSONEncoder().encode(times))
    exit(0)
}
if arguments.count == 5, arguments[1] == "growth" {
    guard let kind = GrowthRound.Kind(rawValue: arguments[2]), let url = URL(string: arguments[3]),
        let count = Int(arguments[4])
    else { exit(64) }
    try await GrowthRound(kind: kind, url: url, count: count).run()
    exit(0)
}
try BenchRunner().run()
