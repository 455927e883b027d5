// Servers that are away, slow, full or lie.

import Fireweed
import FireweedFleet
import FixtureServer
import Foundation
import Testing

@Suite("Outages of the server", .timeLimit(.minutes(TestTimeouts.minutes)))
struct OutageTests {
    @Test("a server that is killed is left alone after three failures, and used again when it is back")
    func restart() async throws {
        let server = try RedisServer()
        let events = FleetEvents()
        let fleet = try Fleet(url: server.url, configuration: events.configuration())
        try await fleet.command("PING")
        try server.stop()
        while !fleet.isDegraded { _ = try? await fleet.command("PING") }
        do {
            try await fleet.command("PING")
            Issue.record("the server is away")
        } catch FleetError.circuitOpen {}
        try server.start()
        while fleet.isDegraded { _ = try? await fleet.command("PING") }
        #expect(try await fleet.command("PING") == .simple("PONG"))
        #expect(events.log.events.first == .degraded && events.log.events.last == .recovered)
    }

    @Test("commands to a stopped process end at their deadline, and later ones at once")
    func stopped() async throws {
        let server = try RedisServer()
        let events = FleetEvents()
        let fleet = try Fleet(url: server.url, configuration: events.configuration(deadline: .milliseconds(100)))
        while (try? await fleet.command("PING")) == nil {}
        server.suspend()
        var failures: [FleetError] = []
        while !fleet.isDegraded {
            do { try await fleet.command("PING") } catch let error as FleetError { failures.append(error) }
        }
        #expect(failures.contains(.timedOut(after: .milliseconds(100))))
        server.resume()
        while fleet.isDegraded { _ = try? await fleet.command("PING") }
        try await events.log.first { $0 == .recovered }
    }

    @Test("a process that is silent for several attempts is asked again, and used when it continues")
    func silentForLong() async throws {
        let server = try RedisServer()
        let events = FleetEvents()
        let fleet = try Fleet(url: server.url, configuration: events.configuration(deadline: .milliseconds(100)))
        while (try? await fleet.command("PING")) == nil {}
        server.suspend()
        // The pauses are one, two and four seconds: at the third one the connection that the second attempt began is
        // still being made, and the third attempt's command is not sent.
        while events.log.events.count(where: { $0 == .degraded }) < 3 {
            _ = try? await fleet.command("PING")
            await Task.yield()
        }
        server.resume()
        while fleet.isDegraded {
            _ = try? await fleet.command("PING")
            await Task.yield()
        }
        try await events.log.first { $0 == .recovered }
    }

    @Test("a slow server fails commands by their deadline, and its late replies are dropped")
    func slow() async throws {
        let server = try RedisServer()
        let fleet = try Fleet(url: server.url, configuration: .patient)
        let other = try Fleet(url: server.url, configuration: .patient)
        try await fleet.command("PING")
        async let sleep = other.command("DEBUG", "SLEEP", "0.5")
        await #expect(throws: FleetError.timedOut(after: .milliseconds(20))) {
            while true { try await fleet.command("ECHO", "old", deadline: .milliseconds(20)) }
        }
        #expect(try await fleet.command("ECHO", "new").text == "new")
        _ = try await sleep
    }

    @Test(
        "what is no reply of Redis is an error, and the connection is given up",
        arguments: [
            "HTTP/1.1 400 Bad Request\r\n\r\n", "*1000000\r\n", "$-7\r\n", "$9999999999\r\n",
            "+OK\r\n+OK\r\n+OK\r\n+OK\r\n",
            "*2\r\n:1\r\n", "",
        ])
    func lies(bytes: String) async throws {
        let server = try ScriptedServer.start(scripts: [[.receive(byteCount: 10), .send(bytes), .close]])
        let fleet = try Fleet(url: "redis://127.0.0.1:\(server.port)", configuration: .patient)
        await #expect(throws: FleetError.self) { while true { try await fleet.command("PING") } }
    }

    @Test("pushes that nothing asked for are bounded, and the connection is given up")
    func pushes() async throws {
        let push = ">2\r\n+invalidate\r\n$1000\r\n\(String(repeating: "x", count: 1000))\r\n"
        let few = String(repeating: push, count: 60)
        let server = try ScriptedServer.start(scripts: [
            [Self.hello, .send("%0\r\n" + few), Self.ping, .send("\(few)+PONG\r\n"), .hold],
            [Self.hello, .send("%0\r\n"), Self.ping, .sendRepeatedly(push, count: 26_000), .send("+PONG\r\n"), .hold],
        ])
        let fleets = try (0..<2).map { _ in
            try Fleet(url: "redis://127.0.0.1:\(server.port)", configuration: .patient)
        }
        await #expect(throws: FleetError.malformedReply(reason: "more than 65536 bytes that nothing asked for")) {
            try await fleets[0].command("PING")
        }
        await #expect(throws: FleetError.malformedReply(reason: "more than 65536 bytes that nothing asked for")) {
            try await fleets[1].command("PING")
        }
    }

    @Test("a replica ends its own connection alone, and what dies with the connection is unreachable")
    func replica() async throws {
        let hello = ScriptedServer.Action.receive(byteCount: RESPArgument.encode(["HELLO", "3"]).count)
        let ping = ScriptedServer.Action.receive(byteCount: RESPArgument.encode(["PING"]).count)
        let server = try ScriptedServer.start(scripts: [
            [hello, .send("%0\r\n"), ping, ping, .send("-READONLY replica\r\n"), .hold],
            [hello, .send("%0\r\n"), ping, .send("+PONG\r\n"), ping, .send("+PONG\r\n"), .hold],
        ])
        let fleet = try Fleet(url: "redis://127.0.0.1:\(server.port)", configuration: .patient)
        let errors = await withTaskGroup(of: FleetError?.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    do { try await fleet.command("PING") } catch { return error as? FleetError }
                    return nil
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.contains(.readOnly))
        #expect(errors.contains(.unreachable(reason: "the server cannot be written")))
        for _ in 0..<2 { #expect(try await fleet.command("PING") == .simple("PONG")) }
    }

    private static let hello = ScriptedServer.Action.receive(byteCount: RESPArgument.encode(["HELLO", "3"]).count)
    private static let ping = ScriptedServer.Action.receive(byteCount: RESPArgument.encode(["PING"]).count)

    @Test("a connection that fails once is made again within the command's deadline", arguments: [1, 8])
    func failedOnce(commandCount: Int) async throws {
        let events = FleetEvents()
        let server = try ScriptedServer.start(scripts: [
            [.reset],
            [Self.hello, .send("%0\r\n")] + Array(repeating: Self.ping, count: commandCount)
                + [.send(String(repeating: "+PONG\r\n", count: commandCount)), .hold],
        ])
        let fleet = try Fleet(url: "redis://127.0.0.1:\(server.port)", configuration: events.configuration())
        try await withThrowingTaskGroup(of: RESPValue.self) { group in
            for _ in 0..<commandCount { group.addTask { try await fleet.command("PING") } }
            for try await reply in group { #expect(reply == .simple("PONG")) }
        }
        #expect(server.events.events.filter { if case .accepted = $0 { true } else { false } }.count == 2)
    }

    @Test("commands fail when the second attempt fails too, and a cancelled command has none")
    func failedTwice() async throws {
        let server = try ScriptedServer.start(scripts: [
            [.reset], [.reset], [Self.hello, .send("%0\r\n"), Self.ping, .send("+PONG\r\n"), .hold],
        ])
        let fleet = try Fleet(url: "redis://127.0.0.1:\(server.port)", configuration: .patient)
        do {
            try await fleet.command("PING")
            Issue.record("two connections failed")
        } catch FleetError.unreachable {}
        while (try? await fleet.command("PING")) == nil { await Task.yield() }
        #expect(server.events.events.contains(.accepted(2)))
        let other = try ScriptedServer.start(scripts: [
            [.wait(for: "cancelled"), .reset],
            [Self.hello, .send("%0\r\n"), Self.ping, .send("+PONG\r\n"), .hold],
        ])
        let second = try Fleet(url: "redis://127.0.0.1:\(other.port)", configuration: .patient)
        let cancelled = Task { try await second.command("ECHO", "a") }
        try await other.events.next(.accepted(0))
        cancelled.cancel()
        other.signal("cancelled")
        await #expect(throws: (any Error).self) { try await cancelled.value }
        // Until it is known that the first connection is lost, commands are sent on it.
        var reply = try? await second.command("PING")
        while reply == nil { reply = try? await second.command("PING") }
        #expect(reply == .simple("PONG"))
    }

    @Test("a lost connection is one failure, however many commands are under way on it")
    func lostConnection() async throws {
        let events = FleetEvents()
        let server = try ScriptedServer.start(scripts: [
            [Self.hello, .send("%0\r\n")] + Array(repeating: Self.ping, count: 8) + [.close],
            [Self.hello, .send("%0\r\n"), Self.ping, .send("+PONG\r\n"), .hold],
        ])
        let fleet = try Fleet(url: "redis://127.0.0.1:\(server.port)", configuration: events.configuration())
        let failures = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 { group.addTask { (try? await fleet.command("PING")) == nil } }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(failures == 8)
        #expect(!fleet.isDegraded)
        #expect(try await fleet.command("PING") == .simple("PONG"))
        #expect(events.log.events.isEmpty)
    }

    @Test(
        "a server that refuses the handshake is an outage", arguments: ["-ERR max number of clients reached\r\n", ""])
    func refused(answer: String) async throws {
        let events = FleetEvents()
        let refusing = try ScriptedServer.start(scripts: [[Self.hello, .send(answer), .close]])
        let real = try RedisServer()
        let url = answer.isEmpty ? "\(real.url)/99" : "redis://127.0.0.1:\(refusing.port)"
        let fleet = try Fleet(url: url, configuration: events.configuration())
        for _ in 0..<3 {
            do {
                try await fleet.command("PING")
                Issue.record("it was accepted")
            } catch FleetError.unreachable {}
        }
        #expect(fleet.isDegraded)
    }

    @Test("behind an overdue reply nothing more is sent: what follows in a request costs no second deadline")
    func overdue() async throws {
        let server = try RedisServer()
        let watch = try Fleet(url: server.url, configuration: .patient)
        var configuration = Fleet.Configuration()
        configuration.commandDeadline = .milliseconds(300)
        let fleet = try Fleet(url: server.url, configuration: configuration)
        while (try? await fleet.command("PING")) == nil {}
        server.suspend()
        for _ in 0..<2 {
            await #expect(throws: FleetError.timedOut(after: .milliseconds(300))) {
                try await fleet.command("ECHO", "a")
            }
        }
        server.resume()
        // The server reads all that a connection has sent at once.
        var calls = ""
        while calls.isEmpty {
            let statistics = try await watch.command("INFO", "commandstats").text ?? ""
            calls = statistics.split(separator: "\r\n").first { $0.hasPrefix("cmdstat_echo:") }.map(String.init) ?? ""
        }
        #expect(calls.hasPrefix("cmdstat_echo:calls=1,"), "\(calls)")
    }

    @Test("bytes for a server that does not read are bounded")
    func bounded() async throws {
        let server = try ScriptedServer.start(scripts: [[Self.hello, .send("%0\r\n"), .hold]])
        let fleet = try Fleet(url: "redis://127.0.0.1:\(server.port)", configuration: .patient)
        let argument = RESPArgument([UInt8](repeating: 0, count: 1 << 20))
        await withTaskGroup(of: FleetError?.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    do { try await fleet.command("ECHO", argument) } catch { return error as? FleetError }
                    return nil
                }
            }
            // 31 commands of a little more than 1 MiB wait here, and some are in the buffers of the sockets.
            #expect(await group.next() == .overloaded)
            fleet.shutDown()
            let overloaded = await group.reduce(1) { $0 + ($1 == .overloaded ? 1 : 0) }
            #expect((16...33).contains(overloaded), "\(overloaded)")
        }
    }

    @Test("a server that accepts and says nothing costs one deadline")
    func silent() async throws {
        let server = try ScriptedServer.start(scripts: [[.hold]])
        var configuration = Fleet.Configuration()
        configuration.commandDeadline = .milliseconds(50)
        let fleet = try Fleet(url: "redis://127.0.0.1:\(server.port)", configuration: configuration)
        await #expect(throws: FleetError.timedOut(after: .milliseconds(50))) { try await fleet.command("PING") }
    }

    @Test("a server that accepts and says nothing costs commands one after the other one deadline together")
    func silentOnce() async throws {
        let server = try ScriptedServer.start(scripts: [[.hold]])
        var configuration = Fleet.Configuration()
        // An attempt to connect ends after four seconds: a second command that waited would see that.
        configuration.commandDeadline = .seconds(3)
        let fleet = try Fleet(url: "redis://127.0.0.1:\(server.port)", configuration: configuration)
        for _ in 0..<2 {
            await #expect(throws: FleetError.timedOut(after: .seconds(3))) { try await fleet.command("PING") }
        }
    }

    @Test("a server that is full says so once, and again when it has room")
    func full() async throws {
        let server = try RedisServer(["--maxmemory", "1"])
        let events = FleetEvents()
        let fleet = try Fleet(url: server.url, configuration: events.configuration())
        let slots = FleetRateLimits(fleet: fleet, name: "a", fallback: .open)
        for _ in 0..<5 {
            await #expect(throws: FleetError.outOfMemory) {
                try await slots.reserve("k", limit: RateLimit(1_000_000), maximumWait: nil)
            }
            try await fleet.command("PING")
        }
        #expect(events.log.events == [.degraded])
        #expect(!fleet.isDegraded, "the server is still asked")
        try await fleet.command("CONFIG", "SET", "maxmemory", 0)
        while events.log.events.count < 2 {
            _ = try await slots.reserve("k", limit: RateLimit(1_000_000), maximumWait: nil)
        }
        #expect(events.log.events == [.degraded, .recovered])
    }

    @Test("a value of another type, a script's error and an answer that makes no sense are reported")
    func refusals() async throws {
        let server = try RedisServer()
        let events = FleetEvents()
        let fleet = try Fleet(url: server.url, configuration: events.configuration())
        let failing = RESPScript("return redis.call('GET', 'a', 'b')")
        await #expect(throws: FleetError.self) { try await fleet.evaluate(failing, keys: []) }
        #expect(events.log.events == [.degraded])
        let other = FleetEvents()
        let second = try Fleet(url: server.url, configuration: other.configuration())
        try await second.command("RPUSH", "list", "a")
        await #expect(throws: FleetError.wrongType) { try await second.command("GET", "list") }
        #expect(other.log.events == [.degraded])
        let hello = Self.hello
        let liar = try ScriptedServer.start(scripts: [
            [hello, .send("%0\r\n"), .receive(byteCount: 1), .send("*1\r\n:1\r\n"), .hold]
        ])
        let third = FleetEvents()
        let deceived = try Fleet(url: "redis://127.0.0.1:\(liar.port)", configuration: third.configuration())
        await #expect(throws: FleetError.unexpectedReply(to: "EVALSHA")) {
            try await FleetRateLimits(fleet: deceived, name: "a", fallback: .open)
                .reserve("k", limit: RateLimit(1), maximumWait: nil)
        }
        #expect(third.log.events == [.degraded])
    }

    @Test("a connection that is slow to open is waited for until the command's deadline")
    func slowToOpen() async throws {
        let server = try ScriptedServer.start(scripts: [[.hold]])
        var configuration = Fleet.Configuration()
        // Longer than an attempt to connect has in any case.
        configuration.commandDeadline = .seconds(5)
        let fleet = try Fleet(url: "redis://127.0.0.1:\(server.port)", configuration: configuration)
        await #expect(throws: FleetError.timedOut(after: .seconds(5))) { try await fleet.command("PING") }
    }

    @Test("a fleet that was shut down takes no commands")
    func shutDown() async throws {
        let server = try RedisServer()
        let fleet = try Fleet(url: server.url, configuration: .patient)
        try await fleet.command("PING")
        fleet.shutDown()
        await #expect(throws: FleetError.shutDown) { try await fleet.command("PING") }
    }
}
