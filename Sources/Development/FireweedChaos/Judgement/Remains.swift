// Files, threads and descriptors that are left after a round.

import Fireweed
import Foundation
import Glibc
import Synchronization

/// Finds what a round left behind: live objects, permits of guards, descriptors, threads and temporary files.
final class Remains: Sendable {
    private struct Watched: @unchecked Sendable {
        // SAFETY: `watched` keeps this value behind its lock, and a weak reference is atomic.
        weak var object: AnyObject?
        let name: String
    }

    /// A limit that counts the messages in flight of guarded sessions, and is too high to refuse any.
    private let limit = ConcurrencyLimit(.fixed(1_000_000))
    /// Hedges nearly every message that is safe to send twice.
    private let hedging: Hedging
    private let watched = Mutex<[Watched]>([])
    private let folder: URL
    private let baseline: [String: Int]

    /// Starts with the descriptors that are open now, which are not reported later; `folder` is that of temporary
    /// files.
    init(temporaryFiles folder: URL) {
        self.folder = folder
        var budget = Hedging.Budget()
        (budget.ratio, budget.burst) = (1, 1_000_000)
        hedging = Hedging(after: .fixed(.milliseconds(1)), budget: budget)
        baseline = Self.descriptors()
    }

    /// Returns the guards of a session with this plan; after a round, `limit` must have all permits back.
    func guards(of plan: SessionPlan) -> [any TransportGuard] {
        var policy = CircuitBreaker.Policy()
        policy.minimumCount = .max
        let admission: [any TransportGuard] = plan.isGuarded ? [.circuitBreaker(policy), limit] : []
        return plan.isHedged ? [hedging] + admission : admission
    }

    /// A sentence about the hedged messages of all rounds.
    var guardSummary: String {
        let counts = hedging.counts
        return "\(counts.hedges) of \(counts.messages) messages were hedged, and \(counts.wins) second ones answered"
    }

    /// Expects an object to be gone at the end of the round.
    func watch(_ object: AnyObject, _ name: String) {
        watched.withLock { $0.append(Watched(object: object, name: name)) }
    }

    /// Waits until nothing is left; after `limit`, returns what is left.
    func problems(after limit: Duration) async -> [String] {
        let deadline = ContinuousClock.now + limit
        while true {
            let problems = problemsNow()
            if problems.isEmpty || ContinuousClock.now > deadline {
                watched.withLock { $0 = [] }
                return problems
            }
            // This polls, since no event reports that an object, a descriptor or a thread is gone.
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    private func problemsNow() -> [String] {
        let alive = watched.withLock { watched in
            watched.removeAll { $0.object == nil }
            return watched.map(\.name)
        }
        var problems = alive.isEmpty ? [] : ["\(alive.count) objects live: \(alive.prefix(8).joined(separator: "; "))"]
        let permitCount = limit.usage.values.reduce(0) { $0 + $1.inFlight }
        if permitCount > 0 { problems.append("\(permitCount) permits of guards are not back") }
        for (kind, count) in Self.descriptors() {
            let known = baseline[kind, default: 0] + Self.lasting[kind, default: 0]
            if count > known { problems.append("\(count) descriptors of \(kind), \(known) at most expected") }
        }
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
        if threads > Self.mostThreads { problems.append("\(threads) threads: \(Self.threadNames())") }
        removeResumableFiles()
        let files = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? []
        if !files.isEmpty {
            let shown = files.prefix(8).map { name in
                let size = (try? FileManager.default.attributesOfItem(atPath: "\(folder.path)/\(name)"))?[.size]
                return "\(name) of \(size ?? "unknown") bytes"
            }
            problems.append("\(files.count) temporary files: \(shown.joined(separator: ", "))")
        }
        return problems
    }

    /// Removes the partial files that the library keeps on purpose, so that a later download can resume.
    ///
    /// Each of these files lies in a separate folder, beside a symbolic link named `owner` whose target is `resumable`.
    private func removeResumableFiles() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
            let path = "\(folder.path)/\(name)"
            let owner = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(path)/owner")
            if owner == "resumable" { try? FileManager.default.removeItem(atPath: path) }
        }
    }

    /// The number of descriptors of each kind that may stay open: an epoll and an eventfd for each event loop,
    /// descriptors of Dispatch, and a socket that watches local addresses.
    private static let lasting = [
        "anon_inode:[eventpoll]": 8, "anon_inode:[eventfd]": 8, "anon_inode:[timerfd]": 8, "socket": 1,
    ]

    /// The maximum number of threads: Dispatch and Swift's concurrency keep several for each core, and each event loop
    /// has one.
    private static let mostThreads = 40

    /// Counts the open descriptors by the target of their link in `/proc`, without the numbers of sockets and pipes.
    private static func descriptors() -> [String: Int] {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        var counts: [String: Int] = [:]
        for number in numbers {
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)"),
                !target.hasPrefix("/proc/")  // the descriptor that reads this folder
            else { continue }
            let isNumbered = target.hasPrefix("socket:") || target.hasPrefix("pipe:")
            counts[isNumbered ? String(target.prefix { $0 != ":" }) : target, default: 0] += 1
        }
        return counts
    }

    private static func threadNames() -> [String: Int] {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        let names = tasks.compactMap { try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8) }
        return Dictionary(grouping: names.map { $0.filter { !$0.isNewline } }, by: \.self).mapValues(\.count)
    }
}
