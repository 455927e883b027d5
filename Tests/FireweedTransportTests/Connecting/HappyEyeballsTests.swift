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
        case ipv6(String), ipv4(String), failed, connected, time
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
            testDescription: "an answer for IPv6 begins the race at once (§3)",
            rows: [
                Row(10, .ipv6("a"), .attempt("6a")), Row(20, .ipv4("a"), .none, wakeUp: 260),
                Row(30, .connected, .finish),
            ]),
        Story(
            testDescription: "an answer for IPv4 waits 50 ms for the one for IPv6 (§3)",
            rows: [
                Row(10, .ipv4("a"), .none, wakeUp: 60), Row(59, .time, .none, wakeUp: 60),
                Row(60, .time, .attempt("4a")),
            ]),
        Story(
            testDescription: "IPv6 goes first when its answer comes within the delay",
            rows: [Row(0, .ipv4("a"), .none, wakeUp: 50), Row(40, .ipv6("a"), .attempt("6a"), wakeUp: 290)]),
        Story(
            testDescription: "a failed look-up for IPv6 ends the delay",
            rows: [Row(0, .ipv4("a"), .none, wakeUp: 50), Row(20, .ipv6(""), .attempt("4a"))]),
        Story(
            testDescription: "an answer for IPv6 that is late is a part of the race (§3)",
            rows: [
                Row(0, .ipv4("a"), .none, wakeUp: 50), Row(50, .time, .attempt("4a")),
                Row(400, .ipv6("a"), .none, wakeUp: 400), Row(400, .time, .attempt("6a")),
            ]),
        Story(
            testDescription: "attempts begin every 250 ms, the families in turn (§4, §5)",
            rows: [
                Row(0, .ipv6("ab"), .attempt("6a"), wakeUp: 250), Row(0, .ipv4("ab"), .none, wakeUp: 250),
                Row(249, .time, .none, wakeUp: 250), Row(250, .time, .attempt("4a"), wakeUp: 500),
                Row(500, .time, .attempt("6b"), wakeUp: 750), Row(750, .time, .attempt("4b")),
                Row(2000, .time, .none), Row(2100, .connected, .finish),
            ]),
        Story(
            testDescription: "a failed attempt begins the next one at once (§5)",
            rows: [
                Row(0, .ipv6("a"), .attempt("6a")), Row(5, .ipv4("ab"), .none, wakeUp: 250),
                Row(10, .failed, .attempt("4a"), wakeUp: 260), Row(260, .time, .attempt("4b")),
            ]),
        Story(
            testDescription: "a black-holed IPv6 costs 250 ms",
            rows: [
                Row(0, .ipv6("a"), .attempt("6a")), Row(0, .ipv4("a"), .none, wakeUp: 250),
                Row(250, .time, .attempt("4a")), Row(251, .connected, .finish),
            ]),
        Story(
            testDescription: "the race fails when the last attempt does",
            rows: [
                Row(0, .ipv6("a"), .attempt("6a")), Row(0, .ipv4("a"), .none, wakeUp: 250),
                Row(100, .failed, .attempt("4a")), Row(101, .failed, .fail), Row(102, .time, .none),
            ]),
        Story(
            testDescription: "attempts that have all failed wait for the answer that is missing",
            rows: [
                Row(0, .ipv6("a"), .attempt("6a")), Row(10, .failed, .none), Row(4000, .ipv4("a"), .attempt("4a")),
                Row(4001, .connected, .finish),
            ]),
        Story(
            testDescription: "no answer at all is a failure",
            rows: [Row(0, .ipv4(""), .none), Row(10, .ipv6(""), .fail)]),
        Story(
            testDescription: "a late failed look-up ends a race that has nothing left",
            rows: [Row(0, .ipv6("a"), .attempt("6a")), Row(1, .failed, .none), Row(2, .ipv4(""), .fail)]),
        Story(
            testDescription: "nothing counts after the end",
            rows: [
                Row(0, .ipv6("a"), .attempt("6a")), Row(1, .connected, .finish), Row(2, .ipv4("a"), .none),
                Row(3, .failed, .none), Row(4, .connected, .none), Row(5, .time, .none),
            ]),
    ]

    @Test("each event has the action that the RFC says", arguments: stories)
    func table(story: Story) throws {
        var race = HappyEyeballs(awaiting: [.ipv6, .ipv4])
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
            var race = HappyEyeballs(awaiting: [.ipv6, .ipv4])
            var (tried, running, ends, now): ([SocketAddress], Int, Int, LoopInstant) = ([], 0, 0, 0)
            var answers: [Event] = [.ipv6(["", "a", "ab"].randomElement() ?? ""), .ipv4(["", "a", "abc"][seed % 3])]
            for _ in 0..<60 where ends == 0 {
                now += UInt64.random(in: 0...100_000_000, using: &random)
                var next = HappyEyeballs.Event.timeReached
                switch Int.random(in: 0...3, using: &random) {
                case 0 where !answers.isEmpty:
                    next = try event(answers.remove(at: Int.random(in: 0..<answers.count, using: &random)))
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
            // What is left: all answers come, all attempts fail.
            for answer in answers where ends == 0 {
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
        case .ipv6(let names): .answered(.ipv6, try names.map { try address("6\($0)") })
        case .ipv4(let names): .answered(.ipv4, try names.map { try address("4\($0)") })
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
