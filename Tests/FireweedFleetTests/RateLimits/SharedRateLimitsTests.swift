// Slots that a backend gives.

import FireweedFleet
import FireweedTesting
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

@testable import Fireweed

/// A backend whose slots are a second apart, and whose questions a test delays.
private final class ScriptedRateLimits: RateLimitBackend {
    struct Lost: Error {}

    let questions = EventLog<Int>()
    let fallback: RateLimitFallback
    private let slotCount = Mutex(0)
    private let script: @Sendable (_ question: Int) async throws -> Void
    private let losesPauses: Bool
    /// What the first question for a pause gets.
    private let pause: Mutex<Duration?>
    /// How old the replies to the first questions are when they arrive; the others are new.
    private let ages: [Duration]
    private let slotsThatAreOver: Set<Int>

    init(
        losesPauses: Bool = false, pause: Duration? = nil, ages: [Duration] = [], slotsThatAreOver: Set<Int> = [],
        fallback: RateLimitFallback = .open,
        _ script: @escaping @Sendable (_ question: Int) async throws -> Void = { _ in }
    ) {
        self.losesPauses = losesPauses
        self.fallback = fallback
        self.pause = Mutex(pause)
        self.ages = ages
        self.slotsThatAreOver = slotsThatAreOver
        self.script = script
    }

    func reserve(_ key: String, limit: RateLimit, count: Int, maximumWait: Duration?) async throws -> RateLimitReply {
        questions.note(count)
        let number = questions.events.count
        try await script(number)
        let age = number <= ages.count ? ages[number - 1] : .zero
        return slotCount.withLock { slots in
            defer { slots += count }
            let waits = (slots..<slots + count).map { slotsThatAreOver.contains($0) ? -1000 : $0 }
            return RateLimitReply(slots: waits.map { .after(.seconds($0)) }, age: age)
        }
    }

    func pause(of key: String) async throws -> Duration? {
        if losesPauses { throw Lost() }
        return pause.withLock { $0.take() }
    }

    func setPause(_ duration: Duration, of key: String) async {}
}

/// Notes how long each request waits.
private final class SlotMonitor: EventMonitor {
    let slots = Mutex<[Int: Duration]>([:])
    let announced = EventLog<Int>()
    let queue = DispatchQueue(label: "slot-monitor")

    func request(_ request: Request, isWaitingForRateLimit duration: Duration) {
        guard let number = request.firstRequest?.number else { return }
        slots.withLock { $0[number] = duration }
        announced.note(number)
    }
}

extension URLRequest {
    /// The number in the path.
    fileprivate var number: Int { url.flatMap { Int($0.path.dropFirst()) } ?? -1 }
}

@Suite("Shared rate limits", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SharedRateLimitsTests {
    @Test("requests have their slots in their order, and those that come during a question share the next one")
    func order() async throws {
        let (go, entered) = (EventLog<String>(), EventLog<Int>())
        let backend = ScriptedRateLimits { _ in try await go.next("go") }
        let limiter = RateLimiter(RateLimit(1), scope: .all, maximumWait: nil, backend: backend)
        let counter = Adapter { request, _, completion in
            entered.note(request.number)
            completion(.success(request))
        }
        let monitor = SlotMonitor()
        let session = Session.stubbed(
            clock: TestClock.automatic, interceptor: Interceptor(adapters: [counter], interceptors: [limiter]),
            eventMonitors: [monitor]
        ) { Stub.any().reply(.text("ok")) }
        let tasks = (0..<20).map { session.request("https://api.example.com/\($0)").serializingData() }
        try await entered.nth(20) { _ in true }
        go.note("go")
        for task in tasks { #expect(await task.response.error == nil) }
        #expect(entered.events == Array(0..<20))
        monitor.queue.sync {}
        // The first slot is no wait.
        #expect(monitor.slots.withLock { $0 } == Dictionary(uniqueKeysWithValues: (1..<20).map { ($0, .seconds($0)) }))
        #expect(backend.questions.events.reduce(0, +) == 20)
        #expect(backend.questions.events.count < 20)
    }

    @Test("a request that has its slot is sent when the backend cannot say whether there is a pause")
    func lostPause() async throws {
        let backend = ScriptedRateLimits(losesPauses: true) { _ in }
        let clock = TestClock.automatic
        let limiter = RateLimiter(RateLimit(1), scope: .all, maximumWait: nil, backend: backend)
        let session = Session.stubbed(clock: clock, interceptor: limiter) { Stub.any().reply(.text("ok")) }
        for number in 0..<3 {
            #expect(await session.request("https://api.example.com/\(number)").serializingData().response.error == nil)
        }
        #expect(clock.elapsed == .seconds(3), "the slots come after 0, 1 and 2 seconds, from the request on")
        #expect(backend.questions.events == [1, 1, 1])
    }

    @Test("a pause that another process was asked for holds requests back that have their slots")
    func foreignPause() async throws {
        let clock = TestClock()
        let local = LocalRateLimits(limit: nil)
        let backend = ScriptedRateLimits(pause: .seconds(30))
        let limits = SharedRateLimits(backend, limit: RateLimit(1), maximumWait: nil, local: local)
        let sent = EventLog<Int>()
        for number in 0..<3 {
            let request = URLRequest(url: try #require(URL(string: "https://api.example.com/\(number)")))
            let passage = RateLimitPermit(
                urlRequest: request, request: nil, key: "k", clock: clock, completion: { _ in sent.note(number) })
            limits.enter(passage, otherwise: { $0.fail(ScriptedRateLimits.Lost()) })
            // A question begins when the slots of the one before are waited for.
            try await backend.questions.nth(number + 1) { _ in true }
        }
        clock.advance(by: .milliseconds(950))
        while local.pauseLeft(of: "k", clock: clock) == 0 { await Task.yield() }
        clock.advance(by: .nanoseconds(Int64(local.pauseLeft(of: "k", clock: clock)) - 1))
        // The slots have come, and what waits now waits for the end of the pause.
        await clock.delayIsPending()
        #expect(sent.events == [0])
        while sent.events.count < 3 {
            clock.advance(by: .seconds(1))
            await Task.yield()
        }
        #expect(Set(sent.events) == [0, 1, 2])
    }

    // MARK: Outages

    @Test("when the backend fails, and when it is back, a new slot comes after the last one of this process")
    func outage() async throws {
        let isAway = Atomic<Bool>(false)
        let backend = ScriptedRateLimits(fallback: .share(ofProcesses: 1)) { _ in
            if isAway.load(ordering: .relaxed) { throw ScriptedRateLimits.Lost() }
        }
        let clock = TestClock()
        let limiter = RateLimiter(RateLimit(1), scope: .all, maximumWait: nil, backend: backend)
        let monitor = SlotMonitor()
        let sent = EventLog<Duration>()
        let noter = Adapter { request, _, completion in
            sent.note(clock.elapsed)
            completion(.success(request))
        }
        let session = Session.stubbed(
            clock: clock, interceptor: Interceptor(interceptors: [limiter, Interceptor(adapters: [noter])]),
            eventMonitors: [monitor]
        ) { Stub.any().reply(.text("ok")) }
        var tasks: [DataTask<Data>] = []
        for number in 0..<8 {
            if number == 3 { isAway.store(true, ordering: .relaxed) }
            if number == 6 { isAway.store(false, ordering: .relaxed) }
            tasks.append(session.request("https://api.example.com/\(number)").serializingData())
            if number == 0 { try await sent.nth(1) { _ in true } } else { try await monitor.announced.next(number) }
            guard number == 3 else { continue }
            #expect(monitor.slots.withLock { $0[3] } == .seconds(3), "after the slots of 0, 1 and 2 seconds")
        }
        // The first question after the outage is for 6 alone; 3, 4 and 5 ask after it.
        try await monitor.announced.nth(2) { $0 == 5 }
        while sent.events.count < 8 {
            clock.advance(by: .seconds(1))
            await Task.yield()
        }
        for task in tasks { #expect(await task.response.error == nil) }
        #expect(sent.events.sorted() == sent.events)
        #expect(backend.questions.events.reduce(0, +) >= 8 + 3)
    }

    // MARK: Late slots

    @Test(
        "a slot whose moment is over is not used, and after two such slots the request is sent in any case",
        arguments: [
            (1, 1, 2), (2, 2, 3), (3, 0, 3),
        ])
    func late(lateCount: Int, seconds: Int, questionCount: Int) async throws {
        let backend = ScriptedRateLimits(ages: Array(repeating: .seconds(100), count: lateCount))
        let clock = TestClock.automatic
        let limiter = RateLimiter(RateLimit(1), scope: .all, maximumWait: .seconds(0), backend: backend)
        let session = Session.stubbed(clock: clock, interceptor: limiter) { Stub.any().reply(.text("ok")) }
        #expect(await session.request("https://api.example.com/").serializingData().response.error == nil)
        #expect(clock.elapsed == .seconds(seconds))
        #expect(backend.questions.events == Array(repeating: 1, count: questionCount))
    }

    @Test("requests keep their order when a slot is over: the first one has the next slot, and the last one another")
    func lateOrder() async throws {
        let sent = EventLog<Int>()
        let backend = ScriptedRateLimits(slotsThatAreOver: [1])
        let limiter = RateLimiter(RateLimit(1), scope: .all, maximumWait: nil, backend: backend)
        let noter = Adapter { request, _, completion in
            sent.note(request.number)
            completion(.success(request))
        }
        let clock = TestClock.automatic
        let session = Session.stubbed(
            clock: clock, interceptor: Interceptor(interceptors: [limiter, Interceptor(adapters: [noter])])
        ) { Stub.any().reply(.text("ok")) }
        let tasks = (0..<4).map { session.request("https://api.example.com/\($0)").serializingData() }
        for task in tasks { #expect(await task.response.error == nil) }
        #expect(sent.events == [0, 1, 2, 3])
        #expect(backend.questions.events.reduce(0, +) == 5)
    }

    @Test("the slot of a request that is cancelled is used by the one behind it")
    func leftSlot() async throws {
        let clock = TestClock()
        let limiter = RateLimiter(RateLimit(1), scope: .all, maximumWait: nil, backend: ScriptedRateLimits())
        let monitor = SlotMonitor()
        let session = Session.stubbed(clock: clock, interceptor: limiter, eventMonitors: [monitor]) {
            Stub.any().reply(.text("ok"))
        }
        #expect(await session.request("https://api.example.com/0").serializingData().response.error == nil)
        let requests = (1...2).map { session.request("https://api.example.com/\($0)") }
        var tasks: [DataTask<Data>] = []
        for (index, request) in requests.enumerated() {
            tasks.append(request.serializingData())
            try await monitor.announced.next(index + 1)
        }
        requests[0].cancel()
        #expect(await tasks[0].response.error?.isExplicitlyCancelledError == true)
        clock.advance(by: .seconds(1))
        #expect(await tasks[1].response.error == nil)
        #expect(clock.elapsed == .seconds(1))
    }

    @Test("the processes of a machine share slots and pauses in a file")
    func file() async throws {
        let folder = try TemporaryFolder()
        let limits = try (0..<2).map { _ in
            try SQLiteRateLimits(file: folder.file("limits.sqlite"), name: "a", fallback: .open)
        }
        let limit = RateLimit(1, per: .seconds(1000), burst: 2)
        for backend in limits {
            #expect(try await backend.reserve("k", limit: limit, maximumWait: nil) == .after(.zero))
        }
        guard case .after(let wait)? = try await limits[0].reserve("k", limit: limit, maximumWait: nil) else {
            Issue.record("a slot was asked for")
            return
        }
        #expect(wait > .seconds(900) && wait <= .seconds(1000))
        guard case .tooLate? = try await limits[1].reserve("k", limit: limit, maximumWait: .seconds(5)) else {
            Issue.record("nobody waits for so long")
            return
        }
        await limits[0].setPause(.seconds(3000), of: "k")
        await limits[1].setPause(.seconds(10), of: "k")
        #expect(try await limits[1].pause(of: "k") ?? .zero > .seconds(2000))
        #expect(try await limits[1].reserve("other", limit: limit, maximumWait: nil) == .after(.zero))
        let slots = try await limits[0].reserve("three", limit: limit, count: 3, maximumWait: .seconds(5)).slots
        #expect(slots.prefix(2) == [.after(.zero), .after(.zero)])
        guard case .tooLate = slots[2] else {
            Issue.record("nobody waits for so long")
            return
        }
    }

    @Test("slots of an earlier run of the machine are none, and a file that cannot be opened is an error")
    func otherRun() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("limits.sqlite")
        let limit = RateLimit(1, per: .seconds(1000))
        let limits = try SQLiteRateLimits(file: file, name: "a", fallback: .open)
        #expect(try await limits.reserve("k", limit: limit, maximumWait: nil) == .after(.zero))
        try SQLiteConnection(path: file.path, busyMilliseconds: 5000).run("UPDATE slots SET boot = 'other'")
        #expect(try await limits.reserve("k", limit: limit, maximumWait: nil) == .after(.zero))
        #expect(throws: RateLimitError.self) {
            try RateLimiter(file: folder.url, limit)
        }
    }

    @Test("a lock that is kept on the file of limits is waited for once, and not by each origin")
    func busy() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("limits.sqlite")
        let limit = RateLimit(1000, per: .seconds(1))
        let limits = try SQLiteRateLimits(file: file, name: "a", fallback: .open)
        let other = try SQLiteConnection(path: file.path, busyMilliseconds: 0)
        try other.run("BEGIN IMMEDIATE")
        // Each one that waited would take a second: all of them together more than this test may take.
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    await #expect(throws: ResponseStoreError.busy) {
                        try await limits.reserve("\(number)", limit: limit, maximumWait: nil)
                    }
                }
            }
        }
        try other.run("COMMIT")
    }

    @Test("a limiter in a file holds requests back for all sessions that use the file")
    func limiter() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("limits.sqlite")
        let sessions = try (0..<2).map { _ in
            Session.stubbed(
                clock: TestClock.automatic,
                interceptor: try RateLimiter(file: file, RateLimit(1, per: .seconds(1000)), maximumWait: .seconds(5))
            ) { Stub.any().reply(.text("ok")) }
        }
        #expect(await sessions[0].request("https://api.example.com/").serializingData().response.error == nil)
        let error = await sessions[1].request("https://api.example.com/").serializingData().response.error
        guard case .waitTooLong? = error?.underlyingError as? RateLimitError else {
            Issue.record("the slot is another session's: \(String(describing: error))")
            return
        }
    }

    @Test("many connections may open a new file at once")
    func opening() async throws {
        let folder = try TemporaryFolder()
        for round in 0..<10 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        _ = try SQLiteRateLimits(file: folder.file("\(round).sqlite"), name: "a", fallback: .open)
                        _ = try SQLiteResponseStore(url: folder.file("\(round)-responses.sqlite"))
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
