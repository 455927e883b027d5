// Slots of a shared rate limit, and the time of commands.

import Fireweed
import FireweedFleet
import Foundation

/// Takes slots for some seconds, each waiter one after the other.
struct SlotWorker {
    let store: String
    let rate: Int

    func run(seconds: Double, waiters: Int) async throws {
        let take = try slots()
        let end = ContinuousClock.now + .seconds(seconds)
        let moments = try await withThrowingTaskGroup(of: [Int64].self) { group in
            for _ in 0..<waiters {
                group.addTask {
                    var moments: [Int64] = []
                    while ContinuousClock.now < end {
                        let (slot, moment) = try await take()
                        guard case .after(let wait) = slot else { continue }
                        moments.append(moment)
                        if wait > .zero { try await Task.sleep(for: wait) }
                    }
                    return moments
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        print(moments.map(String.init).joined(separator: "\n"))
    }

    /// Takes a slot of a server, or of a file.
    private func slots() throws -> @Sendable () async throws -> (slot: RateLimitSlot, moment: Int64) {
        let limit = RateLimit(rate)
        guard store.contains("://") else {
            let limits = try SQLiteRateLimits(file: URL(fileURLWithPath: store), name: "probe", fallback: .open)
            return { try await limits.reserveMoments("origin", limit: limit, count: 1, maximumWait: nil)[0] }
        }
        let limits = FleetRateLimits(
            fleet: try Fleet(url: store, configuration: .probe), name: "probe", fallback: .open)
        return { try await limits.reserveMoments("origin", limit: limit, count: 1, maximumWait: nil)[0] }
    }
}

/// Sends requests at a rate that several processes share.
struct RateWorker {
    let store: String
    let origin: String

    /// The exit status: 0 when all requests succeeded.
    func run(rate: Int, count: Int) async throws -> Int32 {
        let limit = RateLimit(rate)
        let limiter =
            if store.contains("://") {
                try Fleet(url: store, configuration: .probe).rateLimiter(limit)
            } else {
                try RateLimiter(file: URL(fileURLWithPath: store), limit)
            }
        let session = Session(configuration: .af.ephemeral, interceptor: limiter)
        return await session.allSucceed(count, "\(origin)/work") ? 0 : 1
    }
}

/// Asks for one URL with several clients, none of which has it.
struct CacheWorker {
    let url: String
    let address: String

    /// The exit status: 0 when all clients got the same content.
    func run(clients: Int) async throws -> Int32 {
        let fleet = try Fleet(url: url, configuration: .probe)
        var options = FleetCache.Options()
        options.fetchTimeout = .seconds(60)
        let contents = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<clients {
                let session = Session(
                    configuration: .af.ephemeral,
                    options: SessionOptions(asyncResponseStore: FleetCache(fleet: fleet, options: options)))
                group.addTask { try await session.request(address).validate().serializingString().value }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        return contents.count == 1 ? 0 : 1
    }
}

/// Measures commands one after the other, and many at once.
struct CommandTimer {
    let url: String
    let count: Int

    func run() async throws {
        let fleet = try Fleet(url: url, configuration: .probe)
        try await fleet.command("PING")
        let clock = ContinuousClock()
        let single = try await clock.measure { for _ in 0..<count { try await fleet.command("PING") } }
        let many = try await clock.measure {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<64 {
                    group.addTask { for _ in 0..<(count / 64) { try await fleet.command("PING") } }
                }
                try await group.waitForAll()
            }
        }
        let slots = FleetRateLimits(fleet: fleet, name: "bench", fallback: .open)
        let limit = RateLimit(1_000_000_000, burst: 1_000_000)
        let limiter = try await clock.measure {
            for _ in 0..<count { _ = try await slots.reserve("origin", limit: limit, maximumWait: nil) }
        }
        for (name, time) in [("PING", single), ("PING, 64 at once", many), ("slot", limiter)] {
            print("\(name): \(Int(time / .microseconds(1)) / count) µs")
        }
    }
}
