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
    let fallback = RateLimitFallback.open
    private let slotCount = Mutex(0)
    private let script: @Sendable (_ question: Int) async throws -> Void
    private let losesPauses: Bool

    init(losesPauses: Bool = false, _ script: @escaping @Sendable (_ question: Int) async throws -> Void) {
        self.losesPauses = losesPauses
        self.script = script
    }

    func reserve(_ key: String, limit: RateLimit, count: Int, maximumWait: Duration?) async throws -> [RateLimitSlot] {
        questions.note(count)
        try await script(questions.events.count)
        return slotCount.withLock { slots in
            defer { slots += count }
            return (slots..<slots + count).map { .after(.seconds($0)) }
        }
    }

    func pause(of key: String) async throws -> Duration? {
        if losesPauses { throw Lost() }
        return nil
    }

    func setPause(_ duration: Duration, of key: String) async {}
}

/// Notes how long each request waits.
private final class SlotMonitor: EventMonitor {
    let slots = Mutex<[Int: Duration]>([:])
    let queue = DispatchQueue(label: "slot-monitor")

    func request(_ request: Request, isWaitingForRateLimit duration: Duration) {
        guard let number = request.firstRequest?.number else { return }
        slots.withLock { $0[number] = duration }
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
        let slots = try await limits[0].reserve("three", limit: limit, count: 3, maximumWait: .seconds(5))
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
