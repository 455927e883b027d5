import FixtureServer
import Synchronization
import Testing

@testable import FireweedTransport

@Suite("Name look-ups, family by family", .timeLimit(.minutes(Patience.minutes)))
struct NameResolverTests {
    /// A name service that answers when it is told to, and counts what it is asked.
    private final class Service: Sendable {
        let asked = EventLog<NameQuestion>()
        let answers = EventLog<NameResolver.Answer>()
        private let time = Mutex<LoopInstant>(0)
        private let answer: Mutex<NameResolver.Answer>

        init(_ answer: NameResolver.Answer) { self.answer = Mutex(answer) }

        var resolver: NameResolver {
            NameResolver(threadLimit: 4, now: { [self] in time.withLock { $0 } }) { [self] question in
                asked.note(question)
                return answer.withLock { $0 }
            }
        }

        func advance(seconds: LoopInstant) { time.withLock { $0 += seconds * 1_000_000_000 } }
    }

    private static let found = NameResolver.Answer.addresses([.path("stands for an address")])

    @Test(
        "an answer is kept, and a failure for a shorter time",
        arguments: [(found, LoopInstant(30)), (.failed(LookupFailure(isExhaustion: false, text: "no")), 1)])
    func kept(answer: NameResolver.Answer, lifetime: LoopInstant) async throws {
        let service = Service(answer)
        let resolver = service.resolver
        let question = NameQuestion(host: "a.test", family: .ipv6)
        func ask() async throws -> Bool {
            switch resolver.lookUp(question, then: { service.answers.note($0) }) {
            case .known(let known):
                #expect(known == answer)
                return true
            case .pending:
                #expect(try await service.answers.first { _ in true } == answer)
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
}
