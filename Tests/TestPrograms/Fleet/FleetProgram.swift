// A process of a fleet: for tests that several processes share a token or a rate limit, and that some are killed.

import Fireweed
import FireweedFleet
import Foundation

/// One program of a fleet's process.
///
/// - `fleet token STORE ORIGIN COUNT` sends requests with an expired token to an origin, which renews tokens at
///   `/refresh`.
/// - `fleet slots STORE RATE SECONDS WAITERS` takes slots of a rate limit, and prints the store's moment of each.
/// - `fleet send STORE ORIGIN RATE COUNT` sends requests at a rate.
/// - `fleet cache URL ADDRESS CLIENTS` fetches an address by clients that share a cache.
/// - `fleet credential URL PROCESS COUNT` renews a token without an origin, and prints who did.
/// - `fleet command URL COUNT` measures the round trip of a command.
/// - `fleet hit URL FOLDER COUNT` measures look-ups of stored responses, on a server and in a file.
///
/// STORE is the URL of a server, or the path of an SQLite file.
struct FleetProgram {
    private let arguments: [String]

    init(_ arguments: [String]) {
        guard arguments.count > 2 else { exit(64) }
        self.arguments = arguments
    }

    func run() async throws {
        switch arguments[0] {
        case "token":
            exit(
                try await TokenWorker(
                    store: arguments[1], origin: arguments[2], count: Int(arguments[3]) ?? 1,
                    lease: Int(arguments[4]) ?? 1
                ).run())
        case "slots":
            try await SlotWorker(store: arguments[1], rate: Int(arguments[2]) ?? 1).run(
                seconds: Double(arguments[3]) ?? 1, waiters: Int(arguments[4]) ?? 1)
        case "send":
            exit(
                try await RateWorker(store: arguments[1], origin: arguments[2]).run(
                    rate: Int(arguments[3]) ?? 1, count: Int(arguments[4]) ?? 1))
        case "cache":
            exit(try await CacheWorker(url: arguments[1], address: arguments[2]).run(clients: Int(arguments[3]) ?? 1))
        case "credential":
            try await CredentialWorker(url: arguments[1], process: arguments[2]).run(count: Int(arguments[3]) ?? 1)
        case "command": try await CommandTimer(url: arguments[1], count: Int(arguments[2]) ?? 1).run()
        case "hit":
            try await HitTimer(url: arguments[1], folder: arguments[2], count: Int(arguments[3]) ?? 1).run()
        default: exit(64)
        }
    }
}
