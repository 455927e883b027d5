// Removals that do not reach the server.

import Fireweed
import FireweedTransport
import FixtureServer
import Foundation
import Testing

@testable import FireweedFleet

@Suite("Removals of a fleet's cache in an outage", .timeLimit(.minutes(TestTimeouts.minutes)))
struct LostRemovalTests {
    private let redis: RedisServer

    init() throws {
        // The responses are there again after a restart.
        redis = try RedisServer(["--appendonly", "yes"])
    }

    private func cache(_ fleet: Fleet, memoryByteCount: Int = 0) -> FleetCache {
        var options = FleetCache.Options()
        options.memoryByteCount = memoryByteCount
        return FleetCache(fleet: fleet, options: options)
    }

    private func response(_ content: String) -> StoredResponse {
        let head = StoredHead(
            response: ResponseHead(status: 200, fields: [Field(name: "Cache-Control", value: "max-age=3600")]),
            requestTime: Date(), responseTime: Date(),
            variant: ResponseVariant(names: [], selection: Data(), credentials: nil))
        return StoredResponse(head: head, content: Data(content.utf8))
    }

    private func text(_ cache: FleetCache, _ key: String = "k") async throws -> String? {
        try await cache.lookUp(key, claimsFetch: false) { $0.isEmpty ? nil : 0 }.response
            .map { String(decoding: $0.content, as: UTF8.self) }
    }

    /// Removes a response while the server is away, and starts the server again.
    private func removeInOutage(_ cache: FleetCache) async throws {
        try redis.stop()
        await #expect(throws: FleetError.self) { try await cache.removeResponses(for: "k") }
        try redis.start()
    }

    @Test("a removal that failed is made when the server is back, though nobody asks")
    func repeated() async throws {
        let fleets = try (0..<2).map { _ in try Fleet(url: redis.url, configuration: .patient) }
        defer { fleets.forEach { $0.shutDown() } }
        let (mine, other) = (cache(fleets[0]), cache(fleets[1]))
        try await mine.store(response("old"), for: "k", revision: 0)
        let look = try await other.lookUp("k", claimsFetch: false) { _ in nil }
        try await removeInOutage(mine)
        // A server that starts reads its file first.
        while (try? await text(other)) != .some(nil) { await Task.yield() }
        try await other.store(response("late"), for: "k", revision: look.revision)
        #expect(try await text(other) == nil, "it was asked for before the removal")
    }

    @Test("a POST in an outage removes what other processes have when the server is back (RFC 9111 §4.4)")
    func unsafe() async throws {
        let fleets = try (0..<2).map { _ in try Fleet(url: redis.url, configuration: .patient) }
        defer { fleets.forEach { $0.shutDown() } }
        let count = Counter()
        let sessions = fleets.map { fleet in
            let transport = ScriptedTransport { _ in
                let fields = [Field(name: "Cache-Control", value: "max-age=3600")]
                return [.head(ResponseHead(status: 200, fields: fields)), .content(Data("\(count.increment())".utf8))]
            }
            return Session(
                transport: transport, configuration: .af.ephemeral,
                options: SessionOptions(asyncResponseStore: cache(fleet)))
        }
        func get(_ session: Session) async -> String? {
            await session.request("http://a.test/").serializingString().response.value
        }
        #expect(await get(sessions[0]) == "1")
        await sessions[0].flushResponseStore()
        #expect(await get(sessions[1]) == "1")
        try redis.stop()
        #expect(await sessions[0].request("http://a.test/", method: .post).serializingString().response.value == "2")
        await sessions[0].flushResponseStore()
        try redis.start()
        while await get(sessions[1]) == "1" { await Task.yield() }
    }

    enum Loss: CaseIterable { case all, flushed, restarted }

    @Test("what was being fetched when all responses were removed, or lost, is not stored", arguments: Loss.allCases)
    func all(loss: Loss) async throws {
        let redis = try RedisServer()  // keeps nothing
        let fleet = try Fleet(url: redis.url, configuration: .patient)
        defer { fleet.shutDown() }
        let cache = cache(fleet)
        for isRemovedBefore in [true, false] {
            let look = try await cache.lookUp("k", claimsFetch: false) { _ in nil }
            if isRemovedBefore { try await cache.removeResponses(for: "k") }
            switch loss {
            case .all: try await cache.removeAllResponses()
            case .flushed: try await fleet.command("FLUSHALL")
            case .restarted:
                try redis.stop()
                try redis.start()
            }
            try await cache.store(response("late"), for: "k", revision: look.revision)
            #expect(try await text(cache) == nil)
            let next = try await cache.lookUp("k", claimsFetch: false) { _ in nil }
            try await cache.store(response("new"), for: "k", revision: next.revision)
            #expect(try await text(cache) == "new")
            try await cache.removeAllResponses()
        }
    }

    @Test("what was asked for before everything was removed is not stored, though no look preceded it")
    func withoutLook() async throws {
        let redis = try RedisServer()
        let fleets = try (0..<2).map { _ in try Fleet(url: redis.url, configuration: .patient) }
        defer { fleets.forEach { $0.shutDown() } }
        let caches = fleets.map { cache($0) }
        let early = response("early")
        try await caches[0].store(response("a"), for: "a", revision: nil)
        #expect(try await text(caches[1], "a") == "a")
        try await caches[1].removeAllResponses()
        for key in ["a", "b"] {
            // A look of another request in between makes a revision.
            if key == "b" { _ = try await caches[1].lookUp(key, claimsFetch: false) { _ in nil } }
            try await caches[0].store(early, for: key, revision: nil)
            #expect(try await text(caches[1], key) == nil)
        }
    }

    @Test("what is found while everything is being removed is not remembered after it", arguments: [true, false])
    func rememberedMeanwhile(isOfAll: Bool) async throws {
        let redis = try RedisServer()
        let fleet = try Fleet(url: redis.url, configuration: .patient)
        defer { fleet.shutDown() }
        let cache = cache(fleet, memoryByteCount: 1 << 20)
        for _ in 0..<20 {
            try await cache.store(response("old"), for: "k", revision: nil)
            async let removal: Void = isOfAll ? cache.removeAllResponses() : cache.removeResponses(for: "k")
            async let look = text(cache)
            _ = try await look
            try await removal
            #expect(try await text(cache) == nil)
            try await fleet.command("FLUSHALL")
        }
    }

    @Test("a removal that the server refuses holds up no other")
    func refused() async throws {
        let redis = try RedisServer()
        let fleet = try Fleet(url: redis.url, configuration: .patient)
        defer { fleet.shutDown() }
        let (mine, other) = (cache(fleet), cache(try Fleet(url: redis.url, configuration: .patient)))
        try await mine.store(response("old"), for: "good", revision: nil)
        // A revision of another type: the script that removes cannot replace it.
        let bad = fleet.key("\(FleetCache.form)-removed", "bad")
        try await fleet.command("HSET", bad, "a", "b")
        await #expect(throws: FleetError.self) { try await mine.removeResponses(for: "bad") }
        try redis.stop()
        await #expect(throws: FleetError.self) { try await mine.removeResponses(for: "good") }
        try redis.start()
        try await fleetCommandWhenBack(fleet, "HSET", bad)
        try await mine.store(response("old"), for: "other", revision: nil)
        await #expect(throws: FleetError.self) { try await mine.removeResponses(for: "bad") }
        while (try? await text(mine, "good")) != .some(nil) { await Task.yield() }
        #expect(try await text(other, "good") == nil)
    }

    /// Repeats a command until the server is back.
    private func fleetCommandWhenBack(_ fleet: Fleet, _ name: RESPArgument, _ key: RESPArgument) async throws {
        while true {
            do {
                // A removal that is made up for may have written a revision there.
                try await fleet.command("DEL", key)
                try await fleet.command(name, key, "a", "b")
                return
            } catch is FleetError { await Task.yield() }
        }
    }

    @Test("a claim without an end, which no cache has made, holds a URL for a fetch's time alone")
    func endlessClaim() async throws {
        let fleet = try Fleet(url: redis.url, configuration: .patient)
        defer { fleet.shutDown() }
        let claim = fleet.key("\(FleetCache.form)-fetch", "k")
        try await fleet.command("SET", claim, "another")
        #expect(try await cache(fleet).lookUp("k", claimsFetch: true) { _ in nil }.fetch == .elsewhere)
        #expect(try await (1...2_000).contains(fleet.command("PTTL", claim).integer ?? 0))
    }

    @Test("until then no cache of this process serves what was to be removed", arguments: [0, 1 << 20])
    func hidden(memoryByteCount: Int) async throws {
        let fleet = try Fleet(url: redis.url, configuration: .patient)
        defer { fleet.shutDown() }
        let cache = cache(fleet, memoryByteCount: memoryByteCount)
        try await cache.store(response("old"), for: "k", revision: 0)
        #expect(try await text(cache) == "old")
        try await removeInOutage(cache)
        var isBack = false
        while !isBack {
            do {
                #expect(try await text(cache) == nil)
                isBack = true
            } catch is FleetError { await Task.yield() }
        }
    }
}
