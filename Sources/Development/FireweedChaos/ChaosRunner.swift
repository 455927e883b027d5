// The loop of rounds, which ends when the time is over or something is wrong.

import FixtureServer
import Foundation

/// Runs the rounds that the arguments ask for.
struct ChaosRunner {
    let arguments: Arguments
    /// The servers are replaced after this many rounds, since they remember every request.
    private static let roundsOfServers = 25

    /// Runs the rounds; returns the exit code.
    func run() async throws -> Int32 {
        let work = try TemporaryFolder()
        let temporary = work.file("temporary")
        try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: true)
        let activity = Activity()
        let watchdog = Watchdog(activity, limit: .seconds(arguments.stallLimit))
        var servers: ServerProcess? = try startServers(work, temporary)
        let remains = Remains(temporaryFiles: temporary)
        var growth = HeapGrowth()
        let end = ContinuousClock.now + .seconds(arguments.time)
        var run = 0
        while arguments.round == nil ? ContinuousClock.now < end : run < arguments.repetitions {
            if run > 0, run % Self.roundsOfServers == 0 {
                servers = nil  // released before the start: otherwise the pipes of both count as left behind
                servers = try startServers(work, temporary)
            }
            guard let servers else { break }
            let folder = work.file("round-\(run)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let plan = arguments.plan(of: arguments.round ?? run)
            let round = ChaosRound(
                plan: plan, addresses: servers.addresses, remains: remains, watchdog: watchdog, activity: activity,
                folder: folder, run: run)
            var problems = try await round.run()
            try FileManager.default.removeItem(at: folder)
            if let problem = growth.problem() { problems.append(problem) }
            guard problems.isEmpty else {
                report(problems, plan)
                return 1
            }
            run += 1
        }
        StandardOutput.write(
            "\(run) rounds of \(arguments.operationCount) operations with seed \(arguments.seed): nothing was wrong")
        StandardOutput.write(remains.guardSummary)
        StandardOutput.write("the heap has \(growth.last) bytes")
        return 0
    }

    /// Starts the servers; their temporary files are outside the folder that rounds must leave empty.
    private func startServers(_ work: TemporaryFolder, _ temporary: URL) throws -> ServerProcess {
        setenv("TMPDIR", work.url.path, 1)
        defer { setenv("TMPDIR", temporary.path, 1) }
        return try ServerProcess()
    }

    private func report(_ problems: [String], _ plan: RoundPlan) {
        StandardOutput.write("seed \(plan.seed), round \(plan.number):")
        for problem in problems { StandardOutput.write(problem) }
        StandardOutput.write("\nAgain: make chaos SEED=\(plan.seed) ROUND=\(plan.number) REPEAT=20")
    }
}
