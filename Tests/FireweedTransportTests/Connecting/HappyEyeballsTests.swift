import Testing

@testable import FireweedTransport

/// Moments in milliseconds, addresses as `6a`, `6b`, `4a`, `4b`.
@Suite("Happy Eyeballs (RFC 8305)")
struct HappyEyeballsTests {
    /// One event, and what has to follow.
    struct Row: Sendable {
        var time: UInt64
        var event: Event
        var action: Action
        /// When the machine wants to be called next; `nil` for never.
        var wakeUp: UInt64?

        init(_ time: UInt64, _ event: Event, _ action: Action, wakeUp: UInt64? = nil) {
            (self.time, self.event, self.action, self.wakeUp) = (time, event, action, wakeUp)
        }
    }

    enum Event: Sendable {
        case failed, connected, time
        case answered([String])

        static func answer(_ names: String...) -> Event { .answered(names) }
    }

    enum Action: Sendable {
        case none, finish, fail
        case attempt(String)
    }

    struct Story: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var rows: [Row]
    }

    static let stories: [Story] = [
        Story(
            testDescription: "IPv6 goes first (§4)",
            rows: [Row(10, .answer("4a", "6a"), .attempt("6a"), wakeUp: 260), Row(30, .connected, .finish)]),
        Story(
            testDescription: "without an address for IPv6, IPv4 begins at once",
            rows: [Row(10, .answer("4a"), .attempt("4a")), Row(40, .connected, .finish)]),
        Story(
            testDescription: "attempts begin every 250 ms, the families in turn (§4, §5)",
            rows: [
                Row(0, .answer("6a", "6b", "4a", "4b"), .attempt("6a"), wakeUp: 250),
                Row(249, .time, .none, wakeUp: 250), Row(250, .time, .attempt("4a"), wakeUp: 500),
                Row(500, .time, .attempt("6b"), wakeUp: 750), Row(750, .time, .attempt("4b")),
                Row(2000, .time, .none), Row(2100, .connected, .finish),
            ]),
        Story(
            testDescription: "a failed attempt begins the next one at once (§5)",
            rows: [
                Row(0, .answer("6a", "4a", "4b"), .attempt("6a"), wakeUp: 250),
                Row(10, .failed, .attempt("4a"), wakeUp: 260), Row(260, .time, .attempt("4b")),
            ]),
        Story(
            testDescription: "a black-holed IPv6 costs 250 ms",
            rows: [
                Row(0, .answer("6a", "4a"), .attempt("6a"), wakeUp: 250), Row(250, .time, .attempt("4a")),
                Row(251, .connected, .finish),
            ]),
        Story(
            testDescription: "the race fails when the last attempt does",
            rows: [
                Row(0, .answer("6a", "4a"), .attempt("6a"), wakeUp: 250),
                Row(100, .failed, .attempt("4a")), Row(101, .failed, .fail), Row(102, .time, .none),
            ]),
        Story(testDescription: "no answer at all is a failure", rows: [Row(0, .answer(), .fail)]),
        Story(
            testDescription: "nothing counts after the end",
            rows: [
                Row(0, .answer("6a"), .attempt("6a")), Row(1, .connected, .finish), Row(2, .answer("4a"), .none),
                Row(3, .failed, .none), Row(4, .connected, .none), Row(5, .time, .none),
            ]),
    ]

    @Test("each event has the action that the RFC says", arguments: stories)
    func table(story: Story) throws {
        var race = HappyEyeballs()
        for row in story.rows {
            let action = race.handle(try event(row.event), at: row.time * 1_000_000)
            #expect(try action == expected(row.action), "\(row)")
            #expect(race.wakeUp == row.wakeUp.map { $0 * 1_000_000 }, "\(row)")
        }
    }

    @Test("whatever happens in whatever order, a race ends once and tries every address at most once")
    func random() throws {
        for seed in 0..<2000 {
            var random = SystemRandomNumberGenerator()
            var race = HappyEyeballs()
            var (tried, running, ends, now): ([SocketAddress], Int, Int, LoopInstant) = ([], 0, 0, 0)
            let answer = Event.answered(
                (["6a", "6b", "6c"].prefix(seed % 4) + ["4a", "4b"].prefix(seed % 3)).shuffled())
            var isAnswered = false
            for _ in 0..<60 where ends == 0 {
                now += UInt64.random(in: 0...100_000_000, using: &random)
                var next = HappyEyeballs.Event.timeReached
                switch Int.random(in: 0...3, using: &random) {
                case 0 where !isAnswered:
                    isAnswered = true
                    next = try event(answer)
                case 1 where running > 0:
                    running -= 1
                    next = .attemptFailed
                case 2 where running > 0 && Int.random(in: 0...5, using: &random) == 0: next = .connected
                default: break
                }
                switch race.handle(next, at: now) {
                case .none: break
                case .attempt(let address):
                    #expect(!tried.contains(address))
                    tried.append(address)
                    running += 1
                case .finish, .fail: ends += 1
                }
            }
            // The rest: the answer comes, and all attempts fail.
            if ends == 0, !isAnswered {
                let action = race.handle(try event(answer), at: now)
                if case .attempt = action { running += 1 }
                if action == .fail { ends += 1 }
            }
            while ends == 0, running > 0 {
                running -= 1
                let action = race.handle(.attemptFailed, at: now)
                if case .attempt = action { running += 1 }
                if action == .fail { ends += 1 }
            }
            #expect(ends == 1 && race.wakeUp == nil)
        }
    }

    private func event(_ event: Event) throws -> HappyEyeballs.Event {
        switch event {
        case .answered(let names): .answered(try names.map { try address($0) })
        case .failed: .attemptFailed
        case .connected: .connected
        case .time: .timeReached
        }
    }

    private func expected(_ action: Action) throws -> HappyEyeballs.Action {
        switch action {
        case .none: .none
        case .finish: .finish
        case .fail: .fail
        case .attempt(let name): .attempt(try address(name))
        }
    }

    private func address(_ name: String) throws -> SocketAddress {
        let letter = name.suffix(1)
        let text = name.hasPrefix("6") ? "2001:db8::\(letter)" : "192.0.2.\(letter == "a" ? 1 : letter == "b" ? 2 : 3)"
        return .internet(try #require(IPAddress(text)), port: 80)
    }
}
