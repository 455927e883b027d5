import Fireweed
import FireweedTransport
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

@testable import FireweedFleet

@Suite("The cache of a fleet", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FleetCacheTests {
    private let redis: RedisServer
    private let asked = Asked()

    init() throws {
        redis = try RedisServer()
    }

    private func fleet() throws -> Fleet {
        try Fleet(url: redis.url, configuration: .patient)
    }

    /// A cache without a memory of its own, unless the test wants one.
    private func cache(_ fleet: Fleet, _ change: (inout FleetCache.Options) -> Void = { _ in }) -> FleetCache {
        var options = FleetCache.Options()
        options.memoryByteCount = 0
        options.fetchTimeout = TestTimeouts.limit
        change(&options)
        return FleetCache(fleet: fleet, options: options)
    }

    private func response(
        _ content: String, _ control: String = "max-age=6000", at time: Date = Date(), selection: String = "",
        credentials: Data? = nil
    ) -> StoredResponse {
        let names = selection.isEmpty ? [] : ["accept"]
        let head = StoredHead(
            response: ResponseHead(status: 200, fields: [Field(name: "Cache-Control", value: control)]),
            requestTime: time, responseTime: time,
            variant: ResponseVariant(names: names, selection: Data(selection.utf8), credentials: credentials))
        return StoredResponse(head: head, content: Data(content.utf8))
    }

    private func text(
        _ cache: FleetCache, _ key: String = "k",
        _ choose: @escaping @Sendable ([StoredHead]) -> Int? = { $0.isEmpty ? nil : 0 }
    ) async throws -> String? {
        try await cache.lookUp(key, claimsFetch: false, choosing: choose).response
            .map { String(decoding: $0.content, as: UTF8.self) }
    }

    @Test("a response is found by other processes, large or small", arguments: [0, 10, 64 << 10, 70_000, 900_000])
    func found(byteCount: Int) async throws {
        let (one, two) = (try fleet(), try fleet())
        defer { [one, two].forEach { $0.shutDown() } }
        let content = String(repeating: "x", count: byteCount)
        try await cache(one).store(response(content), for: "k", revision: 0)
        #expect(try await text(cache(two)) == content)
        #expect(try await text(cache(two), "l") == nil)
    }

    @Test("variants are kept apart, and the most recent comes first")
    func variants() async throws {
        let fleet = try fleet()
        defer { fleet.shutDown() }
        let cache = cache(fleet)
        let now = Date()
        try await cache.store(response("a", at: now - 2, selection: "a"), for: "k", revision: 0)
        try await cache.store(response("b", at: now, selection: "b"), for: "k", revision: 0)
        try await cache.store(response("c", at: now - 1, selection: "c"), for: "k", revision: 0)
        let order = Seen<[Data]>([])
        let last = try await text(cache) { heads in
            order.set(heads.map(\.variant.selection))
            return heads.count - 1
        }
        #expect(last == "a" && order.value == ["b", "c", "a"].map { Data($0.utf8) })
        for number in 0..<40 {
            try await cache.store(response("x", at: now, selection: "\(number)"), for: "k", revision: 0)
        }
        let count = Seen(0)
        _ = try await text(cache) { heads in
            count.set(heads.count)
            return nil
        }
        #expect(count.value == 16, "variants are bounded")
    }

    @Test("a response is kept while it is fresh, and for its stale window")
    func expiry() async throws {
        let fleet = try fleet()
        defer { fleet.shutDown() }
        let cache = cache(fleet)
        // A key each: what is stored at about the time of a removal of everything is removed with it.
        for (key, control, seconds) in [
            ("a", "max-age=6000", 6_000),
            ("b", "max-age=6000, stale-while-revalidate=1000, stale-if-error=400", 7_000),
            ("c", "max-age=6000, stale-if-error=1000", 7_000),
            ("d", "max-age=6000, must-revalidate, stale-if-error=400", 6_000),
        ] {
            let start = Date()
            try await cache.store(response("one", control), for: key, revision: 0)
            let rest = try await fleet.command("PTTL", fleet.key(FleetCache.form, key)).integer ?? 0
            // A date and an age are in whole seconds: each may cost one.
            let passed = Int(Date().timeIntervalSince(start) * 1000) + 2000
            #expect(rest <= seconds * 1000 && rest >= seconds * 1000 - passed, "\(control)")
        }
        for control in ["max-age=0", "no-store, max-age=6000", "no-cache"] {
            try await cache.store(response("one"), for: "k", revision: 0)
            try await cache.store(response("two", control), for: "k", revision: 0)
            #expect(try await text(cache) == nil, "\(control) only replaces")
        }
        try await cache.store(response("old", "max-age=60", at: Date() - 100), for: "k", revision: 0)
        #expect(try await text(cache) == nil)
    }

    @Test("what was removed after the look is not stored, and not brought back by a 304")
    func removed() async throws {
        let (one, two) = (try fleet(), try fleet())
        defer { [one, two].forEach { $0.shutDown() } }
        let (mine, other) = (cache(one), cache(two))
        let before = try await mine.lookUp("k", claimsFetch: false) { _ in nil }
        try await other.removeResponses(for: "k")
        try await mine.store(response("late"), for: "k", revision: before.revision)
        #expect(try await text(mine) == nil)
        try await mine.store(response("unlooked"), for: "k", revision: nil)
        #expect(try await text(mine) == nil, "without a look nothing is known")
        let after = try await mine.lookUp("k", claimsFetch: false) { _ in nil }
        let stored = response("new")
        try await mine.store(stored, for: "k", revision: after.revision)
        #expect(try await text(other) == "new")
        try await other.removeResponses(for: "k")
        try await mine.updateHead(stored.head, for: "k")
        #expect(try await text(mine) == nil)
    }

    @Test("neither an older response nor an older head replaces a newer one")
    func older() async throws {
        let fleet = try fleet()
        defer { fleet.shutDown() }
        let cache = cache(fleet)
        let now = Date()
        let new = response("new", at: now)
        try await cache.store(new, for: "k", revision: 0)
        try await cache.store(response("old", at: now - 10), for: "k", revision: 0)
        #expect(try await text(cache) == "new")
        // A 304 about content that has been replaced.
        let gone = response("gone", "max-age=1000", at: now + 5)
        try await cache.updateHead(gone.head, for: "k")
        let found = try await cache.lookUp("k", claimsFetch: false) { _ in 0 }
        #expect(found.response?.head.identifier == new.head.identifier)
        let fresh = StoredHead(
            replacing: new.head,
            response: ResponseHead(status: 200, fields: [Field(name: "Cache-Control", value: "max-age=500")]))
        try await cache.updateHead(fresh, for: "k")
        let updated = try await cache.lookUp("k", claimsFetch: false) { _ in 0 }
        #expect(updated.response?.head.response.value(of: "Cache-Control") == "max-age=500")
        #expect(updated.response.map { String(decoding: $0.content, as: UTF8.self) } == "new")
    }

    @Test(
        "private responses are for their partition alone",
        arguments: [
            ("max-age=6000, private", nil), ("max-age=6000", Data([1])), ("max-age=6000", nil),
        ] as [(String, Data?)])
    func partitions(control: String, credentials: Data?) async throws {
        let fleet = try fleet()
        defer { fleet.shutDown() }
        let isPrivate = control.contains("private") || credentials != nil
        let (none, one, two) = (cache(fleet), cache(fleet) { $0.partition = "1" }, cache(fleet) { $0.partition = "2" })
        try await none.store(response("none", control, credentials: credentials), for: "k", revision: 0)
        #expect(try await text(none) == (isPrivate ? nil : "none"))
        try await one.store(response("one", control, credentials: credentials), for: "k", revision: 0)
        #expect(try await text(one) == "one")
        #expect(try await text(two) == (isPrivate ? nil : "one"))
        #expect(try await text(none) == (isPrivate ? nil : "one"))
        try await one.removeResponses(for: "k")
        #expect(try await text(one) == nil)
    }

    @Test("a size limit keeps large responses out")
    func large() async throws {
        let fleet = try fleet()
        defer { fleet.shutDown() }
        let cache = cache(fleet) { $0.maximumEntryByteCount = 1_000 }
        try await cache.store(response("small"), for: "k", revision: 0)
        try await cache.store(response(String(repeating: "x", count: 2_000)), for: "k", revision: 0)
        #expect(try await text(cache) == nil)
    }

    @Test("the memory of a process answers without the server, and forgets what it changes itself")
    func memory() async throws {
        let fleet = try fleet()
        defer { fleet.shutDown() }
        let cache = cache(fleet) {
            $0.memoryByteCount = 1 << 20
            $0.memoryLifetime = .seconds(3600)
        }
        try await cache.store(response("one"), for: "k", revision: 0)
        try await fleet.command("FLUSHALL")
        #expect(try await text(cache) == "one")
        try await cache.removeResponses(for: "k")
        #expect(try await text(cache) == nil)
    }

    @Test("foreign values under our keys are a miss", arguments: ["string", "list", "hash", "our hash", "no number"])
    func foreign(kind: String) async throws {
        let fleet = try fleet()
        defer { fleet.shutDown() }
        let cache = cache(fleet)
        let key = fleet.key(FleetCache.form, "k")
        switch kind {
        case "string": try await fleet.command("SET", key, "x")
        case "list": try await fleet.command("RPUSH", key, "x")
        case "hash": try await fleet.command("HSET", key, "x", "y", "m", "z", "m1", "1 2 3 4")
        case "our hash":
            try await cache.store(response("one"), for: "k", revision: 0)
            let fields = try await fleet.command("HKEYS", key).elements?.compactMap(\.text) ?? []
            for field in fields where field.hasPrefix("h") {
                try await fleet.command("HSET", key, RESPArgument(field), "foreign")
            }
        default: try await fleet.command("SET", fleet.key("\(FleetCache.form)-removed", "k"), "x")
        }
        let found = try? await cache.lookUp("k", claimsFetch: true) { $0.isEmpty ? nil : 0 }
        #expect(found?.response == nil)
        try? await cache.store(response("two"), for: "k", revision: found?.revision)
        if kind == "hash" || kind == "our hash" { #expect(try await text(cache) == "two") }
        let session = session(cache)
        #expect(await session.request("http://a.test/k").serializingString().response.value != nil)
    }

    // MARK: Encryption

    private static let key = Data(repeating: 1, count: 32)

    private func sealed(
        _ fleet: Fleet, _ keys: [Data] = [key], _ change: (inout FleetCache.Options) -> Void = { _ in }
    ) throws -> FleetCache {
        var options = FleetCache.Options()
        options.memoryByteCount = 0
        change(&options)
        return try FleetCache(fleet: fleet, options: options, keys: keys)
    }

    /// Everything that the server has, as bytes.
    private func content(of fleet: Fleet) async throws -> Data {
        var content = Data()
        for key in try await fleet.command("KEYS", "*").elements?.compactMap(\.bytes) ?? [] {
            guard try await fleet.command("TYPE", RESPArgument(key)).text == "hash" else { continue }
            guard case .map(let pairs) = try await fleet.command("HGETALL", RESPArgument(key)) else { continue }
            for value in pairs.compactMap(\.value.bytes) { content.append(contentsOf: value) }
        }
        return content
    }

    @Test("with keys, the server has no response in clear text, and other processes find them", arguments: [6, 70_000])
    func encrypted(byteCount: Int) async throws {
        let (one, two) = (try fleet(), try fleet())
        defer { [one, two].forEach { $0.shutDown() } }
        let text = String(repeating: "secret", count: byteCount / 6)
        let caches = try [one, two].map { try sealed($0) { $0.partition = "alice" } }
        try await caches[0].store(response(text, "private, max-age=6000"), for: "k", revision: 0)
        try await caches[0].store(response(text), for: "shared", revision: 0)
        for key in ["k", "shared"] { #expect(try await self.text(caches[1], key) == text) }
        let stored = try await content(of: one)
        #expect(stored.count > byteCount * 2 && stored.range(of: Data("secret".utf8)) == nil)
        #expect(stored.range(of: Data("max-age".utf8)) == nil)
        #expect(try await self.text(cache(one) { $0.partition = "alice" }) == nil, "without keys")
        let others = try sealed(two, [Data(repeating: 2, count: 32)]) { $0.partition = "alice" }
        #expect(try await self.text(others) == nil, "with another key")
        try await others.store(response("new", "private, max-age=6000", at: Date() + 1), for: "k", revision: 0)
        #expect(try await self.text(caches[0]) == nil, "a key that has been replaced")
        let rotated = try sealed(one, [Self.key, Data(repeating: 2, count: 32)]) { $0.partition = "alice" }
        #expect(try await self.text(rotated) == "new")
        #expect(try await self.text(rotated, "shared") == text)
        #expect(throws: CredentialVaultError.invalidKey) { try sealed(one, []) }
        #expect(throws: CredentialVaultError.invalidKey) { try sealed(one, [Self.key, Data()]) }
    }

    @Test("with keys, a 304 replaces the head of what is shared, and of what is private")
    func encryptedHead() async throws {
        let fleet = try fleet()
        defer { fleet.shutDown() }
        let cache = try sealed(fleet) { $0.partition = "alice" }
        for (key, control) in [("k", "max-age=6000"), ("own", "private, max-age=6000")] {
            let stored = response("one", control)
            try await cache.store(stored, for: key, revision: 0)
            let fields = [Field(name: "Cache-Control", value: "\(control)0")]
            let head = StoredHead(replacing: stored.head, response: ResponseHead(status: 200, fields: fields))
            try await cache.updateHead(head, for: key)
            let found = try await cache.lookUp(key, claimsFetch: false) { $0.isEmpty ? nil : 0 }.response
            #expect(found?.content == Data("one".utf8))
            #expect(found?.head.response.value(of: "Cache-Control") == "\(control)0")
        }
    }

    @Test("hits, misses and failures of the server are counted")
    func counts() async throws {
        let fleet = try fleet()
        defer { fleet.shutDown() }
        let cache = cache(fleet) { $0.memoryByteCount = 1 << 20 }
        #expect(try await text(cache) == nil)
        try await cache.store(response("one"), for: "k", revision: 0)
        for cache in [cache, self.cache(fleet)] { #expect(try await text(cache) == "one") }
        #expect(fleet.counts.cacheHits == 2 && fleet.counts.cacheMisses == 1 && fleet.counts.degradations == 0)
        try redis.stop()
        while !fleet.isDegraded { _ = try? await text(cache, "l") }
        #expect(fleet.counts.cacheMisses > 3 && fleet.counts.degradations == 1 && fleet.counts.cacheHits == 2)
    }

    // MARK: Sessions

    private func session(
        _ cache: FleetCache, _ control: String = "max-age=6000", before: @escaping @Sendable () -> Void = {}
    ) -> Session {
        let transport = ScriptedTransport { [asked] message in
            let count = asked.add(message.url)
            before()
            let fields = [Field(name: "Cache-Control", value: control)]
            return [.head(ResponseHead(status: 200, fields: fields)), .content(Data("\(count)".utf8))]
        }
        return Session(
            transport: transport, configuration: .af.ephemeral,
            options: SessionOptions(asyncResponseStore: cache, coalescesRequests: true))
    }

    @Test(
        "users of X-Api-Key do not get each other's responses, in other processes neither", arguments: [nil, "users"])
    func users(partition: String?) async throws {
        let (one, two) = (try fleet(), try fleet())
        defer { [one, two].forEach { $0.shutDown() } }
        let sessions = [one, two].map { fleet in session(cache(fleet) { $0.partition = partition }) }
        func answer(_ session: Session, _ key: String) async throws -> String {
            let text = try await session.request("http://a.test/", headers: ["X-Api-Key": key]).serializingString()
                .value
            await session.flushResponseStore()
            return text
        }
        #expect(try await answer(sessions[0], "alice") == "1")
        #expect(try await answer(sessions[1], "bob") == "2")
        // Without a partition, nothing of a user is kept.
        #expect(try await answer(sessions[1], "alice") == (partition == nil ? "3" : "1"))
    }

    @Test("a program of another form of the cache neither sees nor removes our responses")
    func forms() async throws {
        let fleet = try fleet()
        defer { fleet.shutDown() }
        let cache = cache(fleet) { $0.partition = "1" }
        try await cache.store(response("one"), for: "k", revision: 0)
        // The keys of the first form began with `cache`, with and without a hyphen.
        let former = [fleet.key("cache", "k"), fleet.key("cache-1", "k"), fleet.key("cache-fetch", "k")]
        for key in former { try await fleet.command("SET", key, "former") }
        let keys = try await fleet.command("KEYS", "*").elements?.compactMap(\.text) ?? []
        let others = keys.filter { key in !former.contains(RESPArgument(key)) }
        #expect(!others.isEmpty && others.allSatisfy { !$0.contains(":cache:") && !$0.contains(":cache-") })
        try await cache.removeAllResponses()
        #expect(try await text(cache) == nil)
        for key in former { #expect(try await fleet.command("GET", key).text == "former") }
    }

    @Test("fifty cold clients fetch once", arguments: [1, 50])
    func cold(sessionCount: Int) async throws {
        let fleets = try (0..<min(5, sessionCount)).map { _ in try fleet() }
        defer { fleets.forEach { $0.shutDown() } }
        let sessions = (0..<sessionCount).map { session(cache(fleets[$0 % fleets.count])) }
        let tasks = (0..<50).map { sessions[$0 % sessionCount].request("http://a.test/").serializingString() }
        for task in tasks { #expect(await task.response.value == "1") }
        #expect(asked.count == 1)
    }

    @Test("an origin that takes longer than the fetch timeout is asked by one more process at a time")
    func slowOrigin() async throws {
        let fleets = try (0..<5).map { _ in try fleet() }
        defer { fleets.forEach { $0.shutDown() } }
        let gate = DispatchGroup()
        gate.enter()
        let sessions = (0..<50).map { number in
            session(cache(fleets[number % 5]) { $0.fetchTimeout = .milliseconds(500) }) { gate.wait() }
        }
        let tasks = sessions.map { $0.request("http://a.test/").serializingString() }
        while asked.count < 2 { await Task.yield() }
        gate.leave()
        for task in tasks { #expect(await task.response.value != nil) }
        #expect(asked.count < 10, "one in 500 ms, and not all of them")
    }

    @Test("a private response is fetched by each process, and later requests do not wait")
    func unshared() async throws {
        let fleets = try (0..<4).map { _ in try fleet() }
        defer { fleets.forEach { $0.shutDown() } }
        let sessions = fleets.map { session(cache($0), "no-store") }
        for session in sessions {
            let tasks = (0..<2).map { _ in session.request("http://a.test/").serializingString() }
            for task in tasks { #expect(await task.response.value != nil) }
            await session.flushResponseStore()
        }
        #expect(asked.count == 8)
    }

    @Test("an unsafe method removes what all processes have (RFC 9111 §4.4)")
    func unsafe() async throws {
        let fleets = try (0..<2).map { _ in try fleet() }
        defer { fleets.forEach { $0.shutDown() } }
        let sessions = fleets.map { session(cache($0)) }
        #expect(await sessions[0].request("http://a.test/").serializingString().response.value == "1")
        await sessions[0].flushResponseStore()
        #expect(await sessions[1].request("http://a.test/").serializingString().response.value == "1")
        #expect(await sessions[1].request("http://a.test/", method: .post).serializingString().response.value == "2")
        await sessions[1].flushResponseStore()
        #expect(await sessions[0].request("http://a.test/").serializingString().response.value == "3")
    }

    @Test("a server that hangs, or is away, is a miss", arguments: [true, false])
    func away(hangs: Bool) async throws {
        var configuration = Fleet.Configuration()
        configuration.commandDeadline = .milliseconds(50)
        let fleet = try Fleet(url: redis.url, configuration: configuration)
        defer { fleet.shutDown() }
        let session = session(FleetCache(fleet: fleet))
        if hangs { redis.suspend() } else { try redis.stop() }
        defer { redis.resume() }
        for number in 0..<5 {
            let response = await session.request("http://a.test/\(number)").serializingString().response
            #expect(response.value == "\(number + 1)")
        }
    }

    @Test("a server whose replies to looks come too late is reported, and left alone")
    func slow() async throws {
        let events = FleetEvents()
        let fleet = try Fleet(url: redis.url, configuration: events.configuration(deadline: .milliseconds(50)))
        let watch = try self.fleet()
        defer { for fleet in [fleet, watch] { fleet.shutDown() } }
        let transport = ScriptedTransport { _ in
            [.head(ResponseHead(status: 200, fields: [Field(name: "Cache-Control", value: "no-store")]))]
        }
        let session = Session(
            transport: transport, configuration: .af.ephemeral,
            options: SessionOptions(asyncResponseStore: FleetCache(fleet: fleet)))
        // A reply that is still on its way fails the next look at once, which does not count.
        for _ in 0..<50 where events.log.events.isEmpty {
            redis.suspend()
            _ = await session.request("http://a.test/").serializingData().response
            redis.resume()
            try await watch.command("PING")
        }
        #expect(events.log.events == [.degraded])
    }
}

/// The URLs that an origin was asked for.
private final class Asked: Sendable {
    private let urls = Mutex<[String]>([])

    var count: Int { urls.withLock { $0.count } }

    /// Notes a URL, and returns how many there are.
    func add(_ url: String) -> Int {
        urls.withLock { urls in
            urls.append(url)
            return urls.count
        }
    }
}

/// What a closure has seen last.
private final class Seen<Value: Sendable>: Sendable {
    private let last: Mutex<Value>

    init(_ value: Value) {
        last = Mutex(value)
    }

    var value: Value { last.withLock { $0 } }

    func set(_ value: Value) {
        last.withLock { $0 = value }
    }
}
