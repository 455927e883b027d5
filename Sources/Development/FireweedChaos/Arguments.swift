// The arguments of the program.

import Foundation

/// The options of the command line.
struct Arguments {
    var seed = UInt64.random(in: 0...9_999_999_999)
    /// The time for all rounds, in seconds.
    var time = 60.0
    /// The only round to run; `nil` runs all rounds from 0.
    var round: Int?
    /// The number of runs of the round `round`.
    var repetitions = 1
    var operationCount = 200
    /// The numbers of the operations to run in a round; `nil` for all.
    var chosen: Set<Int>?
    /// Whether to print the plan of the round instead of running it.
    var printsPlan = false
    /// The seconds without an event after which a round counts as stalled.
    var stallLimit = 60

    /// Parses `--plan` and pairs `--name value`; `nil` for any other argument.
    init?(_ arguments: [String]) {
        var rest = arguments[...]
        while let name = rest.popFirst() {
            if name == "--plan" {
                printsPlan = true
                continue
            }
            guard let text = rest.popFirst() else { return nil }
            if name == "--only" {
                chosen = Set(text.split(separator: ",").compactMap { Int($0) })
            } else if !read(name, text) {
                return nil
            }
        }
    }

    private mutating func read(_ name: String, _ text: String) -> Bool {
        switch (name, UInt64(text)) {
        case ("--seed", let number?): seed = number
        case ("--time", let number?): time = Double(number)
        case ("--round", let number?): round = Int(number)
        case ("--repeat", let number?): repetitions = Int(number)
        case ("--operations", let number?): operationCount = Int(number)
        case ("--stall-limit", let number?): stallLimit = Int(number)
        default: return false
        }
        return true
    }

    /// The plan of a round.
    func plan(of round: Int) -> RoundPlan {
        RoundPlan(seed: seed, number: round, operationCount: operationCount, only: chosen)
    }

    static let usage = """
        usage: FireweedChaos [--seed N] [--time SECONDS] [--round N [--repeat N] [--only N,N…] [--plan]]
                             [--operations N] [--stall-limit SECONDS]
        """
}
