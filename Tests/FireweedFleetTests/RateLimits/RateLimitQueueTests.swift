// Slots, bursts, pauses and quotas as a table.

import FireweedTesting
import FixtureServer
import Foundation
import Testing

@testable import Fireweed
@testable import FireweedFleet

@Suite("Rate limit queue")
struct RateLimitQueueTests {
    private static let second: UInt64 = 1_000_000_000

    /// Sends what may be sent until nothing is left; gives the moments in tenths of a second.
    private func drain(_ queue: inout RateLimitQueue<Int>, from start: UInt64 = 0) -> [Int: UInt64] {
        var now = start
        var sent: [Int: UInt64] = [:]
        while true {
            switch queue.next(at: now) {
            case .due(let waiter):
                queue.takeFirst(at: now)
                sent[waiter] = now / (Self.second / 10)
            case .wait(let moment): now = moment
            case .empty: return sent
            }
        }
    }

    @Test("requests are evenly spaced without a burst, in their order")
    func spacing() {
        var queue = RateLimitQueue<Int>(limit: RateLimit(10))
        #expect(queue.arrive(0, at: 0, maximumWait: nil) == .send)
        for number in 1...3 {
            #expect(queue.arrive(number, at: 0, maximumWait: nil) == .wait(UInt64(number) * Self.second / 10))
        }
        #expect(drain(&queue) == [1: 1, 2: 2, 3: 3])
        #expect(queue.arrive(4, at: 35 * Self.second / 100, maximumWait: nil) != .send)
    }

    @Test("a burst is sent at once after a quiet time, and is earned again at the rate")
    func burst() {
        var queue = RateLimitQueue<Int>(limit: RateLimit(10, burst: 3))
        for number in 0..<3 { #expect(queue.arrive(number, at: 0, maximumWait: nil) == .send) }
        #expect(queue.arrive(3, at: 0, maximumWait: nil) == .wait(Self.second / 10))
        #expect(drain(&queue) == [3: 1])
        for number in 4..<7 { #expect(queue.arrive(number, at: Self.second, maximumWait: nil) == .send) }
        #expect(queue.arrive(7, at: Self.second, maximumWait: nil) != .send)
    }

    @Test("no window of a second has more than the count and one, however requests come")
    func windows() {
        var generator = SystemRandomNumberGenerator()
        var queue = RateLimitQueue<Int>(limit: RateLimit(100))
        var now: UInt64 = 5
        var moments: [UInt64] = []
        for number in 0..<2000 {
            now += UInt64.random(in: 0...20_000_000, using: &generator)
            while case .due = queue.next(at: now) {
                queue.takeFirst(at: now)
                moments.append(now)
            }
            if queue.arrive(number, at: now, maximumWait: nil) == .send { moments.append(now) }
        }
        for (index, moment) in moments.enumerated() where index >= 101 {
            #expect(moment - moments[index - 101] >= Self.second)
        }
    }

    @Test("a request that was cancelled leaves its slot to the one behind it")
    func cancelled() {
        var queue = RateLimitQueue<Int>(limit: RateLimit(10))
        for number in 0...2 { _ = queue.arrive(number, at: 0, maximumWait: nil) }
        queue.dropFirst()
        #expect(drain(&queue) == [2: 1])
    }

    @Test("a request that leaves the line is not counted, wherever it stands, and the others move up")
    func leaving() {
        var queue = RateLimitQueue<Int>(limit: RateLimit(10))
        _ = queue.arrive(0, at: 0, maximumWait: nil)
        var numbers: [UInt64] = []
        for waiter in 1...6 {
            _ = queue.arrive(waiter, at: 0, maximumWait: nil)
            numbers.append(queue.lastNumber)
        }
        for waiter in [3, 1, 2, 6] { #expect(queue.remove(numbers[waiter - 1]) == waiter) }
        #expect(queue.remove(numbers[0]) == nil, "it has left")
        #expect(queue.waitingCount == 2)
        #expect(queue.arrive(7, at: 0, maximumWait: nil) == .wait(3 * Self.second / 10))
        #expect(drain(&queue) == [4: 1, 5: 2, 7: 3])
        #expect(queue.remove(numbers[4]) == nil, "it was sent")
        #expect(queue.waitingCount == 0)
    }

    @Test("a pause holds everything back, and a longer one counts")
    func pause() {
        var queue = RateLimitQueue<Int>(limit: RateLimit(10))
        queue.pause(until: 2 * Self.second)
        queue.pause(until: Self.second)
        #expect(queue.arrive(0, at: 0, maximumWait: Self.second) == .refuse(2 * Self.second))
        for number in 0...1 { _ = queue.arrive(number, at: 0, maximumWait: nil) }
        #expect(drain(&queue) == [0: 20, 1: 21])
    }

    @Test("a quota of the server is kept, and only goes down until its end")
    func quota() {
        var queue = RateLimitQueue<Int>(limit: RateLimit(10, burst: 10))
        queue.allow(2, until: 5 * Self.second, at: 0)
        queue.allow(3, until: 6 * Self.second, at: 0)
        for number in 0...1 { #expect(queue.arrive(number, at: 0, maximumWait: nil) == .send) }
        _ = queue.arrive(2, at: 0, maximumWait: nil)
        #expect(drain(&queue) == [2: 50])
        #expect(queue.isIdle(at: 60 * Self.second))
    }
}

@Suite("Ages of replies")
struct ReplyAgesTests {
    @Test(
        "the age of a reply is what it took longer than the fastest one, whatever the difference of the clocks is",
        arguments: [0, 5_000_000, -5_000_000, 1_700_000_000_000_000])
    func ages(difference: Int64) {
        let ages = ReplyAges()
        // When the question was sent, when the server answered, when the answer arrived, and its age.
        let replies: [(Int64, Int64, Int64, Int64)] = [
            (0, 200, 700, 0), (1000, 1300, 1400, 0), (2000, 2100, 2700, 500), (3000, 3900, 4000, 0),
        ]
        for (asked, answered, received, age) in replies {
            #expect(ages.age(of: answered + difference, asked: asked, received: received) == age)
        }
    }

    @Test("a clock of the server that is set, or that is no clock, makes no reply older than its question")
    func setClock() {
        let ages = ReplyAges()
        #expect(ages.age(of: 5000, asked: 1000, received: 1100) == 0)
        #expect(ages.age(of: 1000, asked: 2000, received: 2100) == 0, "set back")
        #expect(ages.age(of: 90_000, asked: 3000, received: 3100) == 0, "set forward")
        for time in [Int64.min, .max, 0, -1] {
            #expect((0...100).contains(ages.age(of: time, asked: 4000, received: 4100)))
        }
    }
}

@Suite("Rate limits of a process")
struct LocalRateLimitsTests {
    @Test("a request that ends after its queue was removed takes no other request out of the next queue of its key")
    func numbers() async throws {
        let clock = TestClock()
        let limits = LocalRateLimits(limit: RateLimit(1))
        let sent = EventLog<Int>()
        @Sendable func enter(_ key: String, _ number: Int = 0) -> UInt64 {
            limits.enter(
                key, clock: clock, maximumWait: nil,
                LocalRateLimits.Waiter(isWanted: { true }, proceed: { sent.note(number) })
            ).number
        }
        _ = enter("k")
        let first = enter("k", 1)
        clock.advance(by: .seconds(1))
        try await sent.next(1)
        clock.advance(by: .seconds(10))
        // So many keys that the idle ones are removed.
        for number in 0..<1100 { _ = enter("\(number)") }
        _ = enter("k")
        _ = enter("k", 2)
        limits.leave("k", first)
        clock.advance(by: .seconds(1))
        try await sent.next(2)
    }
}

@Suite("Rate limit fields")
struct RateLimitFieldsTests {
    @Test(
        "what servers say of their limits is read",
        arguments: [
            (429, ["Retry-After": "7"], 7, nil, nil),
            (503, ["Retry-After": "99999999999999999999"], 86_400, nil, nil),
            (200, ["Retry-After": "7"], nil, nil, nil),
            (200, ["RateLimit": "\"a,b\";r=5;t=30, \"c\";r=2;t=9"], nil, 2, 9),
            (200, ["RateLimit": "\"c\";r=2", "RateLimit-Policy": "\"x\";q=1;w=1,\"c\";q=10;w=60"], nil, 2, 60),
            (200, ["RateLimit": "limit=100, remaining=0, reset=12"], nil, 0, 12),
            (200, ["RateLimit-Remaining": "3", "RateLimit-Reset": "4"], nil, 3, 4),
            (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767225660"], nil, 0, 60),
            (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767225660000"], nil, 0, 60),
            (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767225500"], nil, 0, 0),
            (200, ["RateLimit-Remaining": "0", "RateLimit-Reset": "1767225660"], nil, 0, 60),
            (200, ["RateLimit-Remaining": "0", "RateLimit-Reset": "1767225660500"], nil, 0, 60.5),
            (200, ["RateLimit": "limit=100, remaining=0, reset=1767225612"], nil, 0, 12),
            (200, ["RateLimit": "\"a\";r=0;t=1767225612000"], nil, 0, 12),
            (200, ["RateLimit-Remaining": "0", "RateLimit-Reset": "1000000000"], nil, 0, 86_400),
            (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "15"], nil, 0, 15),
            (200, ["X-RateLimit-Remaining": "-1", "X-RateLimit-Reset": "15"], nil, nil, nil),
            (200, ["RateLimit": "\"unfinished;r=1;t=1", "X-RateLimit-Remaining": "a"], nil, nil, nil),
        ] as [(Int, [String: String], Double?, Int?, Double?)])
    func fields(status: Int, fields: [String: String], pause: Double?, remaining: Int?, seconds: Double?) {
        let read = RateLimitFields(status: status, now: Date(timeIntervalSince1970: 1_767_225_600)) { fields[$0] }
        #expect(read.pause == pause)
        #expect(read.quota?.remaining == remaining)
        #expect(read.quota?.seconds == seconds)
    }
}
