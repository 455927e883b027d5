// A process of a fleet: for tests that several processes share a token or a rate limit, and that some are killed.
//
// `FleetProbe token STORE ORIGIN COUNT` sends requests with an expired token to an origin, which renews tokens at
// `/refresh`; `FleetProbe slots STORE RATE SECONDS WAITERS` takes slots of a rate limit, and prints the store's moment
// of each; `FleetProbe send STORE ORIGIN RATE COUNT` sends requests at a rate; `FleetProbe cache URL ADDRESS CLIENTS`
// fetches an address by clients that share a cache; `FleetProbe credential URL PROCESS COUNT` renews a token without an
// origin, and prints who did; `FleetProbe command URL COUNT` measures the round trip of a command; `FleetProbe hit URL
// FOLDER COUNT` measures look-ups of stored responses, on a server and in a file. STORE is the URL of a server, or the
// path of an SQLite file.

import Fireweed
import FireweedFleet
import Foundation
import FoundationNetworking

let arguments = CommandLine.arguments
guard arguments.count > 3 else { exit(64) }
switch arguments[1] {
case "token":
    exit(try await TokenWorker(store: arguments[2], origin: arguments[3], count: Int(arguments[4]) ?? 1).run())
case "slots":
    try await SlotWorker(store: arguments[2], rate: Int(arguments[3]) ?? 1).run(
        seconds: Double(arguments[4]) ?? 1, waiters: Int(arguments[5]) ?? 1)
case "send":
    exit(
        try await RateWorker(store: arguments[2], origin: arguments[3]).run(
            rate: Int(arguments[4]) ?? 1, count: Int(arguments[5]) ?? 1))
case "cache":
    exit(try await CacheWorker(url: arguments[2], address: arguments[3]).run(clients: Int(arguments[4]) ?? 1))
case "credential":
    try await CredentialWorker(url: arguments[2], process: arguments[3]).run(count: Int(arguments[4]) ?? 1)
case "command": try await CommandTimer(url: arguments[2], count: Int(arguments[3]) ?? 1).run()
case "hit": try await HitTimer(url: arguments[2], folder: arguments[3], count: Int(arguments[4]) ?? 1).run()
default: exit(64)
}
