// The run of one round.

import Foundation

/// Runs one planned round, and collects the problems.
struct ChaosRound {
    let plan: RoundPlan
    let addresses: ServerAddresses
    let remains: Remains
    let watchdog: Watchdog
    let activity: Activity
    /// An empty folder for the caller's files.
    let folder: URL
    /// The number of this run, by which the servers tell it from other runs of the same round.
    let run: Int

    /// Runs all operations and returns the problems; empty if nothing was wrong.
    func run() async throws -> [String] {
        let start = ContinuousClock.now
        let judge = Judge(plan: plan)
        let records = plan.operations.map { OperationRecord($0, judge: judge, activity: activity) }
        let label = "seed \(plan.seed), round \(plan.number)"
        watchdog.watch {
            let open = records.filter { !$0.hasEnded }.map { $0.history(since: start) }
            return (["\(label): \(open.count) operations have not ended"] + open).joined(separator: "\n")
        }
        let monitor = EventRecorder()
        try await runOperations(records, monitor)
        watchdog.watch(nil)
        var problems = await remains.problems(after: .seconds(20))
        for record in records {
            let orders = record.requestIDs.compactMap { EventOrder.problem(monitor.events(of: $0)) }
            let all = record.problems + orders
            guard !all.isEmpty else { continue }
            problems.append((all + [record.history(since: start)]).joined(separator: "\n"))
        }
        return problems
    }

    private func runOperations(_ records: [OperationRecord], _ monitor: EventRecorder) async throws {
        let slots = try plan.sessions.map {
            try SessionSlot($0, addresses: addresses, monitor: monitor, remains: remains, folder: folder)
        }
        await withTaskGroup(of: Void.self) { group in
            for record in records {
                let operation = record.operation
                let run = OperationRun(
                    operation: operation, record: record, slot: slots[operation.session], addresses: addresses,
                    remains: remains, folder: folder, key: "\(plan.number)-\(run)-\(operation.number)",
                    tokenKey: "\(plan.number)-\(run)-\(operation.session)")
                group.addTask { await run.run() }
            }
        }
        for slot in slots { slot.drop() }
    }
}
