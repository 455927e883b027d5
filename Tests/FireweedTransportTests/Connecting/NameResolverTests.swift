import Dispatch
import FixtureServer
import Synchronization
import Testing

@testable import FireweedTransport

@Suite("Name look-ups", .timeLimit(.minutes(TestTimeouts.minutes)))
struct NameResolverTests {
    /// A name service that answers when it is told to, and counts what it is asked.
    private final class Service: Sendable {
        let asked = EventLog<String>()
        let answers = EventLog<NameResolver.Answer>()
        private let time = Mutex<LoopInstant>(0)
        private let answer: Mutex<NameResolver.Answer>

        init(_ answer: NameResolver.Answer) { self.answer = Mutex(answer) }

        var resolver: NameResolver {
            NameResolver(threadLimit: 4, now: { [self] in time.withLock { $0 } }) { [self] name in
                asked.note(name)
                return answer.withLock { $0 }
            }
        }

        func advance(seconds: LoopInstant) { time.withLock { $0 += seconds * 1_000_000_000 } }
    }

    static let found = NameResolver.Answer.addresses([.path("stands for an address")])

    @Test(
        "an answer is kept, and a failure for a shorter time",
        arguments: [(found, LoopInstant(30)), (.failed(LookupFailure(isExhaustion: false, text: "no")), 1)])
    func kept(answer: NameResolver.Answer, lifetime: LoopInstant) async throws {
        let service = Service(answer)
        let resolver = service.resolver
        var answerCount = 0
        func ask() async throws -> Bool {
            switch resolver.lookUp("a.test", then: { service.answers.note($0) }) {
            case .known(let known):
                #expect(known == answer)
                return true
            case .pending:
                answerCount += 1
                #expect(try await service.answers.nth(answerCount) { _ in true } == answer)
                return false
            }
        }
        let first = try await ask()
        service.advance(seconds: lifetime - 1)
        let second = try await ask()
        service.advance(seconds: 1)
        let third = try await ask()
        #expect([first, second, third] == [false, true, false])
        resolver.forget("a.test")
        #expect(try await ask() == false)
    }

    /// A name service whose look-ups end when the test says so.
    private final class HeldService: Sendable {
        let asked = EventLog<String>()
        let answers = EventLog<String>()
        private let counts = Mutex((now: 0, most: 0))
        private let gate = DispatchGroup()

        init() { gate.enter() }

        /// The most look-ups that ran at the same time.
        var mostAtOnce: Int { counts.withLock { $0.most } }

        func resolver(threadLimit: Int) -> NameResolver {
            NameResolver(threadLimit: threadLimit, now: { 0 }) { [self] name in
                counts.withLock { counts in
                    counts.now += 1
                    counts.most = max(counts.most, counts.now)
                }
                asked.note(name)
                gate.wait()
                counts.withLock { $0.now -= 1 }
                return NameResolverTests.found
            }
        }

        /// Ends the look-ups, now and later.
        func answer() { gate.leave() }

        /// Asks for the address of a host, whose answer is noted.
        func ask(_ host: String, of resolver: NameResolver) throws -> NameResolver.LookupID {
            guard case .pending(let ticket) = resolver.lookUp(host, then: { _ in self.answers.note(host) }) else {
                throw CancellationError()
            }
            return ticket
        }
    }

    @Test("half of the threads at most look up names that were never answered, and each name once for all who ask")
    func bound() async throws {
        let service = HeldService()
        let resolver = service.resolver(threadLimit: 8)
        for number in 0..<100 {
            for _ in 0..<2 { _ = try service.ask("host\(number)", of: resolver) }
        }
        try await service.asked.nth(4) { _ in true }
        #expect(service.asked.events.count == 4)
        service.answer()
        try await service.answers.nth(200) { _ in true }
        #expect(service.mostAtOnce == 4)
        #expect(service.asked.events.count == 100)
        #expect(Set(service.answers.events).count == 100)
    }

    @Test("names that are never answered hold up a new name until they are slow, and not until they end")
    func silentNames() async throws {
        let service = SilentNameService()
        defer { service.answer() }
        let answers = EventLog<String>()
        let resolver = NameResolver(
            threadLimit: 12,
            lookUp: { name in
                name == "new.test" ? NameResolverTests.found : service.lookUp(name)
            })
        for number in 0..<8 { _ = resolver.lookUp("\(number).silent.test") { _ in answers.note("silent") } }
        _ = resolver.lookUp("new.test") { _ in answers.note("new") }
        try await answers.next("new")
        #expect(answers.events == ["new"])
        try await service.asked.nth(8) { _ in true }
        #expect(service.largestCount == 8)
    }

    @Test("a name that nobody waits for leaves the line, and a cancelled handler is not called")
    func cancel() async throws {
        let service = HeldService()
        let resolver = service.resolver(threadLimit: 1)
        let running = try service.ask("running", of: resolver)
        try await service.asked.next("running")
        let abandoned = try service.ask("abandoned", of: resolver)
        let shared = [try service.ask("shared", of: resolver), try service.ask("shared", of: resolver)]
        for ticket in [running, abandoned, shared[0], shared[0]] { resolver.cancel(ticket) }
        service.answer()
        try await service.answers.next("shared")
        _ = try service.ask("last", of: resolver)
        try await service.answers.next("last")
        #expect(service.answers.events == ["shared", "last"])
        #expect(service.asked.events == ["running", "shared", "last"])
    }
}
