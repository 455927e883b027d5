// The sessions and operations of one round.

import FireweedTesting

/// A pure value: the same seed and number give the same plan.
struct RoundPlan: Sendable {
    let seed: UInt64
    let number: Int
    let sessions: [SessionPlan]
    let operations: [Operation]

    /// Makes the plan of a round; `chosen` has the numbers of the operations to keep, and `nil` keeps all.
    init(seed: UInt64, number: Int, operationCount: Int, only chosen: Set<Int>? = nil) {
        var random = SeededGenerator(seed: seed &* 0x2545_F491_4F6C_DD1D &+ UInt64(number))
        let sessions = (0..<random.number(2...5)).map { _ in SessionPlan.random(&random) }
        self.seed = seed
        self.number = number
        self.sessions = sessions
        let all = (0..<operationCount).map { Operation.random($0, of: sessions, &random) }
        operations = all.filter { chosen?.contains($0.number) ?? true }
    }

    /// Whether any operation of the session has this action.
    func anyone(in session: Int, does action: Meddling.Action) -> Bool {
        operations.contains { operation in
            operation.session == session && operation.meddlings.contains { $0.action == action }
        }
    }
}

extension RoundPlan: CustomStringConvertible {
    var description: String {
        let sessions = sessions.enumerated().map { "session \($0): \($1)" }
        return (["seed \(seed), round \(number)"] + sessions + operations.map { "\($0)" }).joined(separator: "\n")
    }
}
