// Commands that a server refuses while it performs others.

import Fireweed
import FixtureServer
import Foundation
import Testing

@testable import FireweedFleet

@Suite("Refusals of the server", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RefusalTests {
    enum Refusal: CaseIterable {
        /// A user that may not run the command.
        case forbidden
        /// A replica, which performs what only reads.
        case replica
        /// A primary that is to have replicas, and has none.
        case noReplicas
    }

    @Test("a command that is refused between others that are performed is reported once", arguments: Refusal.allCases)
    func perCommand(refusal: Refusal) async throws {
        let primary = try RedisServer()
        let server =
            switch refusal {
            case .forbidden: primary
            case .replica: try RedisServer(["--replicaof", "127.0.0.1", "\(primary.port)"])
            case .noReplicas: try RedisServer(["--min-replicas-to-write", "1"])
            }
        if refusal == .forbidden {
            try await Fleet(url: server.url, configuration: .patient).command("ACL", "SETUSER", "default", "-set")
        }
        let events = FleetEvents()
        let fleet = try Fleet(url: server.url, configuration: events.configuration())
        for _ in 0..<5 {
            await #expect(throws: FleetError.self) { try await fleet.command("SET", "a", "1") }
            while (try? await fleet.command("PING")) == nil { await Task.yield() }
        }
        #expect(events.log.events == [.degraded])
        #expect(!fleet.isDegraded, "other commands are performed")
    }

    @Test("a script that the server does not know when it is sent whole is reported")
    func unknownScript() async throws {
        let hello = ScriptedServer.Action.receive(byteCount: RESPArgument.encode(["HELLO", "3"]).count)
        let script = RESPScript("return 1")
        let digest = RESPArgument.encode(["EVALSHA", RESPArgument(script.digest), 0]).count
        let proxy = try ScriptedServer.start(scripts: [
            [
                hello, .send("%0\r\n"), .receive(byteCount: digest), .send("-NOSCRIPT no such script\r\n"),
                .receive(byteCount: 1), .send("-NOSCRIPT no such script\r\n"), .hold,
            ]
        ])
        let events = FleetEvents()
        let fleet = try Fleet(url: "redis://127.0.0.1:\(proxy.port)", configuration: events.configuration())
        await #expect(throws: FleetError.server(code: "NOSCRIPT", message: "no such script")) {
            try await fleet.evaluate(script, keys: [])
        }
        #expect(events.log.events == [.degraded])
    }

    @Test("replies to the list, to scripts and to SCAN that make no sense are reported", arguments: 0..<4)
    func unexpected(call: Int) async throws {
        let hello = ScriptedServer.Action.receive(byteCount: RESPArgument.encode(["HELLO", "3"]).count)
        let timeKey = try Fleet(url: "redis://h").removalTimeKey
        let noting = RESPArgument.encode([
            "EVALSHA", RESPArgument(FleetCacheScript.noteRemoval.digest), 1, timeKey, FleetCacheRemoval.markLife,
        ])
        let asking = RESPArgument.encode(["EVALSHA", RESPArgument(FleetCacheScript.serverRun.digest), 1, timeKey])
        let front: [ScriptedServer.Action] =
            call < 3
            ? []
            : [
                .receive(byteCount: asking.count), .send("$0\r\n\r\n"), .receive(byteCount: noting.count),
                .send(":1\r\n"),
            ]
        let liar = try ScriptedServer.start(scripts: [
            [hello, .send("%0\r\n")] + front + [.receive(byteCount: 1), .send("*1\r\n:1\r\n"), .hold]
        ])
        let events = FleetEvents()
        let fleet = try Fleet(url: "redis://127.0.0.1:\(liar.port)", configuration: events.configuration())
        let queue = FleetQueue(fleet: fleet, name: "list", consumer: "one", lease: .seconds(60))
        await #expect(throws: FleetError.self) {
            switch call {
            case 0: _ = try await queue.add([], after: 0, checksum: "", newChecksum: "", isEnd: false)
            case 1: _ = try await queue.take(1, looksForLeftItems: false)
            default: try await FleetCache(fleet: fleet).removeAllResponses()
            }
        }
        #expect(events.log.events == [.degraded])
    }
}
