// The way in which delegates such as adapters, retriers and redirect handlers call their completion.

import Dispatch
import FireweedTesting

/// When, how often and from which threads a completion is called.
enum Answering: Sendable {
    /// On the calling thread.
    case atOnce
    /// From another thread, after this many microseconds.
    case late(Int)
    /// On the calling thread, and again after this many microseconds.
    case twice(Int)
    /// From two threads at the same time, after this many microseconds.
    case together(Int)

    static func random(_ random: inout SeededGenerator) -> Answering {
        let delay = random.choice(0, 50, 500, 5_000, 20_000)
        return random.choice(.atOnce, .atOnce, .late(delay), .late(delay), .twice(delay), .together(delay))
    }

    /// Calls `completion` as this case says.
    func answer(_ completion: @escaping @Sendable () -> Void) {
        switch self {
        case .atOnce: completion()
        case .late(let delay): Later.run(after: delay, completion)
        case .twice(let delay):
            completion()
            Later.run(after: delay, completion)
        case .together(let delay):
            Later.run(after: delay) { DispatchQueue.concurrentPerform(iterations: 2) { _ in completion() } }
        }
    }
}

/// Runs work on another thread after a delay.
enum Later {
    private static let queue = DispatchQueue(label: "chaos.later", attributes: .concurrent)

    static func run(after microseconds: Int, _ work: @escaping @Sendable () -> Void) {
        guard microseconds > 0 else { return queue.async(execute: work) }
        queue.asyncAfter(deadline: .now() + .microseconds(microseconds), execute: work)
    }
}
