// The events of one operation.

import Foundation
import Synchronization

/// The history of an operation, with all calls of its handlers.
final class OperationRecord: Sendable {
    /// An expected callback, which must come exactly once.
    struct Receipt: Sendable {
        fileprivate let record: OperationRecord
        fileprivate let index: Int

        /// Records that the callback came; a second call is a fault.
        func call(_ outcome: Outcome? = nil) {
            record.called(index, outcome)
        }

        /// Records that the callback came, unless it has: for a callback that will not come any more.
        func callIfMissing() {
            if record.isMissing(index) { record.called(index, nil) }
        }
    }

    private struct Handler {
        var name: String
        var callCount = 0
    }

    private struct State {
        var history: [(time: ContinuousClock.Instant, text: String)] = []
        var handlers: [Handler] = []
        var pendingCount = 0
        var waiter: CheckedContinuation<Void, Never>?
        var problems: [String] = []
        var requestIDs: [UUID] = []
        var hasEnded = false
    }

    let operation: Operation
    private let judge: Judge
    private let activity: Activity
    private let state = Mutex(State())

    init(_ operation: Operation, judge: Judge, activity: Activity) {
        self.operation = operation
        self.judge = judge
        self.activity = activity
    }

    func note(_ text: String) {
        activity.note()
        state.withLock { $0.history.append((.now, text)) }
    }

    func fault(_ text: String) {
        note("FAULT: \(text)")
        state.withLock { $0.problems.append(text) }
    }

    /// Announces a callback that must come.
    func expect(_ name: String) -> Receipt {
        state.withLock { state in
            state.handlers.append(Handler(name: name))
            state.pendingCount += 1
            return Receipt(record: self, index: state.handlers.count - 1)
        }
    }

    private func isMissing(_ index: Int) -> Bool {
        state.withLock { $0.handlers[index].callCount == 0 }
    }

    private func called(_ index: Int, _ outcome: Outcome?) {
        let (name, isFirst) = state.withLock { state in
            state.handlers[index].callCount += 1
            return (state.handlers[index].name, state.handlers[index].callCount == 1)
        }
        note("\(name)\(outcome.map { ": \($0)" } ?? "")")
        if let outcome {
            for problem in judge.problems(with: outcome, of: operation) { fault("\(name): \(problem)") }
        }
        guard isFirst else { return fault("\(name) was called again") }
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.pendingCount -= 1
            guard state.pendingCount == 0 else { return nil }
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Waits until every announced callback has come.
    func waitForCallbacks() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.pendingCount > 0 { state.waiter = continuation }
                return state.pendingCount == 0
            }
            if isOver { continuation.resume() }
        }
    }

    func made(_ id: UUID) {
        state.withLock { $0.requestIDs.append(id) }
    }

    func ended() {
        note("ended")
        state.withLock { $0.hasEnded = true }
    }

    var hasEnded: Bool { state.withLock { $0.hasEnded } }
    var requestIDs: [UUID] { state.withLock { $0.requestIDs } }
    var problems: [String] { state.withLock { $0.problems } }

    /// Returns the history, with a line for each event and its time in milliseconds since `start`.
    func history(since start: ContinuousClock.Instant) -> String {
        let (history, missing) = state.withLock { state in
            (state.history, state.handlers.filter { $0.callCount == 0 }.map(\.name))
        }
        let lines = history.map { entry in
            let time = (entry.time - start) / .milliseconds(1)
            return "    \(String(format: "%9.3f", time)) ms  \(entry.text)"
        }
        let rest = missing.isEmpty ? [] : ["    never came: \(missing.joined(separator: ", "))"]
        return (["  \(operation)"] + lines + rest).joined(separator: "\n")
    }
}
