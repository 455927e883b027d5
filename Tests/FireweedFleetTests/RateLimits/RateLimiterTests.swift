// Requests that wait for their slots, on a clock of the test.

import Fireweed
import FireweedFleet
import FireweedTesting
import FixtureServer
import Foundation
import Synchronization
import Testing

/// Notes the requests that are told to wait.
private final class WaitingMonitor: EventMonitor {
    let waits = Mutex<[Duration]>([])
    let queue = DispatchQueue(label: "waiting-monitor")

    func request(_ request: Request, isWaitingForRateLimit duration: Duration) {
        waits.withLock { $0.append(duration) }
    }
}

@Suite("Rate limiter", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RateLimiterTests {
    private let url = "https://api.example.com/a"

    @Test("requests take as long as the rate says, in their order, and monitors see them wait")
    func rate() async throws {
        // An automatic clock would release the third request while the second is on its way through the session, where
        // requests may overtake each other.
        let clock = TestClock()
        let monitor = WaitingMonitor()
        let closures = ClosureEventMonitor(queue: DispatchQueue(label: "closure-monitor"))
        let closureWaits = EventLog<Duration>()
        closures.requestIsWaitingForRateLimit = { closureWaits.note($1) }
        let order = EventLog<Int>()
        let limiter = RateLimiter(RateLimit(1, burst: 2))
        let session = Session.stubbed(clock: clock, interceptor: limiter, eventMonitors: [monitor, closures]) {
            Stub.get("/{n}").reply { request in
                order.note(Int(request.path.dropFirst()) ?? -1)
                return .text("ok")
            }
        }
        let requests = (0..<6).map { session.request("https://api.example.com/\($0)").serializingData() }
        while limiter.waitingCount < 4 { await Task.yield() }
        try await order.nth(2) { _ in true }
        #expect(Set(order.events) == [0, 1], "a burst has no order")
        for number in 2..<6 {
            clock.advance(by: .milliseconds(999))
            #expect(order.events.count == number)
            clock.advance(by: .milliseconds(1))
            try await order.nth(number + 1) { _ in true }
        }
        for request in requests { #expect(await request.response.error == nil) }
        #expect(Array(order.events.dropFirst(2)) == [2, 3, 4, 5])
        monitor.queue.sync {}
        #expect(monitor.waits.withLock { $0 } == (1...4).map { .seconds($0) })
        try await closureWaits.nth(4) { _ in true }
    }

    @Test("origins, and keys of requests, have limits of their own")
    func keys() async {
        let clock = TestClock.automatic
        let byUser = RateLimiter(RateLimit(1), scope: .key { $0.value(forHTTPHeaderField: "User") })
        let session = Session.stubbed(clock: clock, interceptor: byUser) { Stub.any().reply(.text("ok")) }
        for user in ["a", "b", "c"] {
            _ = await session.request(url, headers: ["User": user]).serializingData().response
        }
        for _ in 0..<3 { _ = await session.request(url).serializingData().response }
        #expect(clock.elapsed == .zero)
        _ = await session.request(url, headers: ["User": "a"]).serializingData().response
        #expect(clock.elapsed == .seconds(1))
    }

    @Test("a 429 holds everything to its origin back until Retry-After, and nothing else")
    func retryAfter() async {
        let clock = TestClock.automatic
        let session = Session.stubbed(clock: clock, interceptor: RateLimiter(nil)) {
            Stub.get("https://api.example.com/a").reply(.status(429, headers: ["Retry-After": "30"]), .text("ok"))
            Stub.any().reply(.text("ok"))
        }
        #expect(await session.request(url).serializingData().response.response?.statusCode == 429)
        _ = await session.request("https://other.example.com/").serializingData().response
        #expect(clock.elapsed == .zero)
        #expect(await session.request(url).serializingData().response.response?.statusCode == 200)
        #expect(clock.elapsed == .seconds(30))
    }

    @Test(
        "a server holds requests back for no longer than the limiter allows",
        arguments: [["Retry-After": "300"], ["RateLimit": "\"p\";r=0;t=300"]])
    func boundedPause(fields: [String: String]) async {
        let clock = TestClock.automatic
        let limiter = RateLimiter(nil, maximumPause: .seconds(20))
        let session = Session.stubbed(clock: clock, interceptor: limiter) {
            Stub.any().reply(.status(429, headers: HTTPHeaders(fields)), .text("ok"))
        }
        _ = await session.request(url).serializingData().response
        #expect(await session.request(url).serializingData().response.response?.statusCode == 200)
        #expect(clock.elapsed == .seconds(20))
        #expect(RateLimiter(nil).maximumPause == .seconds(86_400))
    }

    @Test("a 503 behind a redirect holds the origin back that answered, and not the one that redirected")
    func redirected() async {
        let clock = TestClock.automatic
        let session = Session.stubbed(clock: clock, interceptor: RateLimiter(nil)) {
            Stub.get("https://api.example.com/a").reply(
                .status(302, headers: ["Location": "https://files.example.com/a"]))
            Stub.get("https://files.example.com/a").reply(.status(503, headers: ["Retry-After": "30"]), .text("ok"))
            Stub.any().reply(.text("ok"))
        }
        #expect(await session.request(url).serializingData().response.response?.statusCode == 503)
        _ = await session.request("https://api.example.com/b").serializingData().response
        #expect(clock.elapsed == .zero)
        _ = await session.request("https://files.example.com/a").serializingData().response
        #expect(clock.elapsed == .seconds(30))
    }

    @Test("a quota that is used up holds requests back until it is renewed")
    func quota() async {
        let clock = TestClock.automatic
        let session = Session.stubbed(clock: clock, interceptor: RateLimiter(nil)) {
            Stub.any().reply(.status(200, headers: ["RateLimit": "\"p\";r=0;t=10"]), .text("ok"))
        }
        _ = await session.request(url).serializingData().response
        _ = await session.request(url).serializingData().response
        #expect(clock.elapsed == .seconds(10))
    }

    @Test("a request that is cancelled while it waits ends at once, and takes no slot")
    func cancelling() async {
        let clock = TestClock()
        let limiter = RateLimiter(RateLimit(1))
        let session = Session.stubbed(clock: clock, interceptor: limiter) { Stub.any().reply(.text("ok")) }
        _ = await session.request(url).serializingData().response
        let waiting = (0..<3).map { _ in session.request(url) }
        let tasks = waiting.map { $0.serializingData() }
        while limiter.waitingCount < 3 { await Task.yield() }
        for request in waiting.prefix(2) { request.cancel() }
        for task in tasks.prefix(2) { #expect(await task.response.error?.isExplicitlyCancelledError == true) }
        // The clock stands still: a request that is over leaves the line before its slot comes.
        while limiter.waitingCount > 1 { await Task.yield() }
        clock.advance(by: .seconds(1))
        #expect(await tasks[2].response.error == nil)
    }

    @Test("a wait that would be too long is an error at once")
    func tooLong() async {
        let clock = TestClock()
        let session = Session.stubbed(
            clock: clock, interceptor: RateLimiter(RateLimit(1, per: .seconds(10)), maximumWait: .seconds(5))
        ) { Stub.any().reply(.text("ok")) }
        _ = await session.request(url).serializingData().response
        let error = await session.request(url).serializingData().response.error
        #expect(error?.underlyingError as? RateLimitError == .waitTooLong(.seconds(10)))
    }

    // MARK: Shared

    @Test("two processes' limiters share their slots and pauses")
    func shared() async throws {
        let server = try RedisServer()
        let limiters = try (0..<2).map { _ in
            FleetRateLimits(fleet: try Fleet(url: server.url, configuration: .patient), name: "a", fallback: .open)
        }
        let limit = RateLimit(1, per: .seconds(1000), burst: 2)
        for limiter in limiters {
            #expect(try await limiter.reserve("k", limit: limit, maximumWait: nil) == .after(.zero))
        }
        guard case .after(let wait) = try await limiters[0].reserve("k", limit: limit, maximumWait: nil) else {
            Issue.record("a slot was asked for")
            return
        }
        #expect(wait > .seconds(900) && wait <= .seconds(1000))
        guard case .tooLate = try await limiters[1].reserve("k", limit: limit, maximumWait: .seconds(5)) else {
            Issue.record("a wait past the deadline is refused")
            return
        }
        await limiters[0].setPause(.seconds(3000), of: "k")
        await limiters[1].setPause(.seconds(10), of: "k")
        #expect(try await limiters[1].pause(of: "k") ?? .zero > .seconds(2000))
        guard case .after(let paused) = try await limiters[1].reserve("k", limit: limit, maximumWait: nil) else {
            return
        }
        #expect(paused > .seconds(2000))
        #expect(try await limiters[1].reserve("other", limit: limit, maximumWait: nil) == .after(.zero))
    }

    @Test("a 429 that one process gets pauses the others")
    func sharedPause() async throws {
        let server = try RedisServer()
        let fleet = try Fleet(url: server.url, configuration: .patient)
        let session = Session.stubbed(interceptor: fleet.rateLimiter(RateLimit(1000, burst: 1000))) {
            Stub.any().reply(.status(429, headers: ["Retry-After": "300"]))
        }
        _ = await session.request(url).serializingData().response
        let other = FleetRateLimits(
            fleet: try Fleet(url: server.url, configuration: .patient), name: "requests", fallback: .open)
        // The pause is told to the server after the response.
        while try await other.pause(of: "https://api.example.com:443") == nil { await Task.yield() }
    }

    @Test("a pause of requests that are limited together holds back none that have another name")
    func pauseOfName() async throws {
        let server = try RedisServer()
        let fleet = try Fleet(url: server.url, configuration: .patient)
        let limiter = fleet.rateLimiter(RateLimit(1000, burst: 1000), name: "one", scope: .all)
        let session = Session.stubbed(interceptor: limiter) {
            Stub.any().reply(.status(429, headers: ["Retry-After": "300"]))
        }
        _ = await session.request(url).serializingData().response
        func slots(_ name: String) -> FleetRateLimits {
            FleetRateLimits(fleet: fleet, name: name, isByOrigin: false, fallback: .open)
        }
        while try await slots("one").pause(of: "") == nil { await Task.yield() }
        #expect(try await slots("two").pause(of: "") == nil)
    }

    @Test("slots of a long period are kept, however far away they are")
    func longPeriod() async throws {
        let server = try RedisServer()
        let slots = FleetRateLimits(
            fleet: try Fleet(url: server.url, configuration: .patient), name: "a", fallback: .open)
        let period = Duration.seconds(40 * 86_400)
        for number in 0..<3 {
            let slot = try await slots.reserve("k", limit: RateLimit(1, per: period), maximumWait: nil)
            guard case .after(let wait) = slot else { return }
            #expect(wait <= period * number && wait > period * number - .seconds(3600), "request \(number)")
        }
    }

    @Test("values under our keys that are not ours are no moments, and other types leave the process its share")
    func foreign() async throws {
        let server = try RedisServer()
        let fleet = try Fleet(url: server.url, configuration: .patient)
        func slots() -> FleetRateLimits {
            FleetRateLimits(fleet: fleet, name: "a", fallback: .share(ofProcesses: 2))
        }
        let key = fleet.key("slots:a", "k")
        for value: RESPArgument in ["banana", "1e300", "-1e300", "nan", "inf", ""] {
            for life in [[], ["PX", "60000"]] as [[RESPArgument]] {
                try await fleet.command(["SET", key, value] + life)
                let slot = try await slots().reserve("k", limit: RateLimit(1), maximumWait: nil)
                #expect(slot == .after(.zero), "\(value) \(life)")
            }
        }
        try await fleet.command("DEL", key)
        try await fleet.command("LPUSH", key, "a")
        await #expect(throws: FleetError.wrongType) {
            try await slots().reserve("k", limit: RateLimit(1), maximumWait: nil)
        }
        let clock = TestClock.automatic
        let limiter = RateLimiter(RateLimit(1), scope: .key { _ in "k" }, maximumWait: nil, backend: slots())
        let session = Session.stubbed(clock: clock, interceptor: limiter) { Stub.any().reply(.text("ok")) }
        for _ in 0..<3 { #expect(await session.request(url).serializingData().response.error == nil) }
        #expect(clock.elapsed == .seconds(4), "one request in two seconds is the share of one of two processes")
    }

    @Test("without the server requests go by the share, or open, as configured")
    func unreachable() async throws {
        let port = try #require(MockServer.refusingURL().port)
        var configuration = Fleet.Configuration.patient
        configuration.fleetSize = 4
        let fleet = try Fleet(url: "redis://127.0.0.1:\(port)", configuration: configuration)
        for (fallback, seconds) in [(nil, 8), (.open, 0)] as [(RateLimitFallback?, Int)] {
            let clock = TestClock.automatic
            let limiter = fleet.rateLimiter(RateLimit(1), whenUnreachable: fallback)
            let session = Session.stubbed(clock: clock, interceptor: limiter) { Stub.any().reply(.text("ok")) }
            for _ in 0..<3 { #expect(await session.request(url).serializingData().response.error == nil) }
            #expect(clock.elapsed == .seconds(seconds))
        }
    }
}
