import FireweedTesting
import FixtureServer
import Foundation
import Synchronization
import Testing

@testable import Fireweed

@Suite("Request stress", .timeLimit(.minutes(TestTimeouts.minutes)))
struct StressTests {
    /// How many operations; `FIREWEED_STRESS_OPERATIONS` sets another number.
    private static let operationCount =
        ProcessInfo.processInfo.environment["FIREWEED_STRESS_OPERATIONS"].flatMap(Int.init) ?? 200_000
    private static let threadCount = 8

    /// Counts every call of every handler, and remembers every object weakly.
    private final class Ledger: Sendable {
        private struct Entry: @unchecked Sendable {
            // SAFETY: part of the state below.
            weak var object: AnyObject?
        }

        private struct State {
            var calls: [UInt8] = []
            var calledCount = 0
            var objects: [Entry] = []
        }

        private let state = Mutex(State())

        func newHandler() -> Int {
            state.withLock { state in
                state.calls.append(0)
                return state.calls.count - 1
            }
        }

        func called(_ handler: Int) {
            state.withLock { state in
                state.calls[handler] &+= 1
                state.calledCount += 1
            }
        }

        func remember(_ object: AnyObject) {
            state.withLock { $0.objects.append(Entry(object: object)) }
        }

        var handlerCount: Int { state.withLock { $0.calls.count } }
        var calledCount: Int { state.withLock { $0.calledCount } }
        var wrongCounts: [Int] { state.withLock { state in state.calls.indices.filter { state.calls[$0] != 1 } } }
        var objectCount: Int { state.withLock { $0.objects.count } }
        /// Whether everything is gone; what is gone is not looked at again.
        var isEmpty: Bool {
            state.withLock { state in
                while let last = state.objects.last, last.object == nil { state.objects.removeLast() }
                return state.objects.isEmpty
            }
        }
        var live: [AnyObject] { state.withLock { $0.objects.compactMap(\.object) } }
    }

    /// Holds one request, until another takes its place.
    private final class Place: Sendable {
        private let held = Mutex<Request?>(nil)

        var request: Request? { held.withLock { $0 } }

        /// Puts a request in and gives the one before, so that it is dropped outside the lock.
        func replace(by request: Request) -> Request? {
            held.withLock { held in
                defer { held = request }
                return held
            }
        }
    }

    /// What the threads share: requests that any of them may touch.
    private final class Arena: Sendable {
        let places = (0..<48).map { _ in Place() }
        let ledger = Ledger()
        let session: Session
        let server: FixtureServer
        private let queue = DispatchQueue(label: "handlers", attributes: .concurrent)

        init(session: Session, server: FixtureServer) {
            self.session = session
            self.server = server
        }

        func perform(_ random: inout SeededGenerator) {
            let place = Int(random.next() % UInt64(places.count))
            guard let request = places[place].request, random.next() % 16 > 1 else {
                let made = make(&random)
                ledger.remember(made)
                _ = places[place].replace(by: made)
                return
            }
            switch random.next() % 5 {
            case 0: request.resume()
            case 1: request.suspend()
            case 2 where random.next() % 4 == 0: request.cancel()
            case 2, 3: addHandler(to: request)
            default: _ = (request.state, request.description, request.tasks.count, request.error)
            }
        }

        private func make(_ random: inout SeededGenerator) -> Request {
            let paths = ["/small", "/status/503", "/bytes/70000", "/redirect/1", "/drip?bytes=3&duration=0.01"]
            let url = server.url(paths[Int(random.next() % UInt64(paths.count))])
            switch random.next() % 6 {
            case 0: return session.download(url)
            case 1: return session.upload(Data(count: 2000), to: url)
            case 2: return session.streamRequest(url)
            default: return session.request(url).validate()
            }
        }

        private func addHandler(to request: Request) {
            let (ledger, handler) = (ledger, ledger.newHandler())
            let called: @Sendable () -> Void = { [weak request] in
                if let attempt = request?.lastAttempt { ledger.remember(attempt) }
                ledger.called(handler)
            }
            switch request {
            case let request as DataRequest: request.responseData(queue: queue) { _ in called() }
            case let request as DownloadRequest: request.responseURL(queue: queue) { _ in called() }
            case let request as DataStreamRequest:
                request.responseStream(on: queue) { if case .complete = $0.event { called() } }
            default: Issue.record("no such request")
            }
        }
    }

    @Test("every handler is called exactly once, and nothing is left behind")
    func randomOperations() async throws {
        let server = try FixtureServer.start(threads: 2)
        let policy = RetryPolicy(exponentialBackoffScale: 0.0001)
        let seed = UInt64.random(in: 0 ... .max)
        var session: Session? = Session.isolated(interceptor: policy)
        let ledger: Ledger
        do {
            let arena = Arena(session: try #require(session), server: server)
            ledger = arena.ledger
            await Self.run(arena, seed: seed)
            // Whatever is held or sleeps ends now; what waits for a retry too.
            await withCheckedContinuation { continuation in
                arena.session.cancelAllRequests(completingOnQueue: .global()) { continuation.resume() }
            }
            #expect(
                try await becomes { ledger.calledCount >= ledger.handlerCount }, "seed \(seed)")
            // The end of a request without a handler has no event.
            let isEmpty = try await becomes { Self.left(in: arena.session).isEmpty }
            #expect(isEmpty, "seed \(seed): \(Self.left(in: arena.session).prefix(5).map(\.standing))")
        }
        session = nil
        #expect(ledger.wrongCounts.isEmpty, "seed \(seed)")
        #expect(ledger.handlerCount > Self.operationCount / 10 && ledger.objectCount > Self.operationCount / 10)
        #expect(
            try await becomes { ledger.isEmpty },
            "seed \(seed): left are \(ledger.live.prefix(5).map(Self.standing))")
    }

    private static func left(in session: Session) -> Set<Request> {
        let left = Mutex<Set<Request>>([])
        session.withAllRequests { requests in left.withLock { $0 = requests } }
        return left.withLock { $0 }
    }

    private static func standing(_ object: AnyObject) -> String {
        (object as? Request)?.standing ?? "\(object)"
    }

    private static func run(_ arena: Arena, seed: UInt64) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let shared = Countdown(left: threadCount) { continuation.resume() }
            for number in 0..<threadCount {
                Thread {
                    var random = SeededGenerator(seed: seed &+ UInt64(number))
                    for _ in 0..<(operationCount / threadCount) { arena.perform(&random) }
                    shared.finish()
                }.start()
            }
        }
    }
}

extension Request {
    /// Where a request stands that should have ended.
    fileprivate var standing: String {
        let (lifecycle, error, handlers, attempt) = mutable.withLock {
            ($0.lifecycle, $0.error, $0.handlers.count, $0.attempts.last)
        }
        let phase = attempt.map { attempt in
            attempt.state.withLock {
                "\($0.life.stage) holds:\($0.life.holds.reasons.rawValue) control:\($0.control != nil) failure:\(String(describing: $0.failure)) hops:\($0.records.count)"
            }
        }
        return "\(self) \(lifecycle) \(String(describing: error)) handlers:\(handlers) attempt:\(phase ?? "none")"
    }
}

/// Calls back when so many threads have finished.
private final class Countdown: Sendable {
    private let left: Atomic<Int>
    private let action: @Sendable () -> Void

    init(left: Int, action: @escaping @Sendable () -> Void) {
        self.left = Atomic(left)
        self.action = action
    }

    func finish() {
        if left.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 { action() }
    }
}
