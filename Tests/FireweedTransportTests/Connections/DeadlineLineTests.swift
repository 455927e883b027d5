// Waiting exchanges and their deadlines.

import Foundation
import Testing

@testable import FireweedTransport

@Suite("Deadlines in line, the tables")
struct DeadlineLineTests {
    private static let millisecond: UInt64 = 1_000_000
    /// A moment at which no deadline of these tests has passed.
    private static let now: LoopInstant = 1_000_000 * millisecond

    /// What a window says in which so many of fifty responses took 40 ms, and the others longer.
    private static func latencies(quick: Int = 50, milliseconds: UInt64 = 40, slow: UInt64 = 1000) -> LatencyWindow {
        var window = LatencyWindow()
        for index in 0..<50 { window.note((index < quick ? milliseconds : slow) * millisecond, at: now) }
        return window
    }

    @Test(
        "below the quickest tenth there is no hope, and above the usual time there is no doubt",
        arguments: [
            (0, .hopeless), (39, .hopeless), (40, .doubtful), (79, .doubtful), (80, .good), (10_000, .good),
        ] as [(UInt64, DeadlineOutlook.Verdict)])
    func verdicts(milliseconds: UInt64, verdict: DeadlineOutlook.Verdict) throws {
        var window = Self.latencies()
        let outlook = try #require(DeadlineOutlook(&window, at: Self.now))
        #expect(outlook.verdict(remaining: milliseconds * Self.millisecond) == verdict)
    }

    @Test(
        "the usual time is the 95th percentile, within twice and four times the quickest tenth",
        arguments: [(40, 80), (60, 80), (100, 100), (160, 160), (1000, 160)] as [(UInt64, UInt64)])
    func usual(slow: UInt64, usual: UInt64) throws {
        var window = Self.latencies(quick: 25, slow: slow)
        let outlook = try #require(DeadlineOutlook(&window, at: Self.now))
        #expect(outlook.usual == usual * Self.millisecond)
    }

    @Test("numbers that do not fit make no trap")
    func extremes() throws {
        var window = LatencyWindow()
        for _ in 0..<50 { window.note(.max, at: Self.now) }
        let outlook = try #require(DeadlineOutlook(&window, at: Self.now))
        #expect(outlook.verdict(remaining: .max) == .good)
        #expect(outlook.verdict(remaining: .max - 1) == .hopeless)
    }

    // MARK: The line

    /// A line, and the exchanges in it by the number with which they entered.
    private struct Stage {
        var line: DeadlineLine
        var latencies = DeadlineLineTests.latencies()
        private var entered: [Int: Exchange] = [:]
        private var numbers: [ObjectIdentifier: Int] = [:]
        private let transport = EngineTransport()
        private let consumer = TransferRecorder(
            wantsReadComplete: false, afterHead: { _, _ in .undecided }, afterContent: { _, _ in .undecided },
            whenReleased: {})

        init(_ change: (inout TransportOptions) -> Void = { _ in }) {
            var options = TransportOptions()
            change(&options)
            line = DeadlineLine(options)
        }

        /// Adds an exchange with so many milliseconds to its deadline; `nil` for none.
        mutating func enter(_ number: Int, _ milliseconds: UInt64? = nil, turn: UInt64 = 1) throws {
            var message = RequestMessage(url: "http://a.test/")
            message.requestDeadlineNanoseconds = milliseconds.map {
                DeadlineLineTests.now + $0 * DeadlineLineTests.millisecond
            }
            let exchange = try #require(transport.makeTransfer(of: message, for: consumer) as? Exchange)
            (exchange.entry.number, exchange.entry.place, exchange.entry.turn) = (number, number, turn)
            line.enter(exchange, number: number, at: DeadlineLineTests.now)
            (entered[number], numbers[ObjectIdentifier(exchange)]) = (exchange, number)
        }

        /// Removes the exchange that entered with a number.
        mutating func leave(_ number: Int) {
            if let place = entered[number]?.entry.place { line.leave(place) }
        }

        /// The next one that comes out in turn 2: its number, negative where the exchange is refused.
        mutating func next() -> Int? {
            switch line.next(at: DeadlineLineTests.now, turn: 2, &latencies) {
            case .serve(let exchange)?: numbers[ObjectIdentifier(exchange)]
            case .refuse(let exchange, _, _)?: numbers[ObjectIdentifier(exchange)].map { -$0 }
            case nil: nil
            }
        }

        /// All that come out.
        mutating func drain() -> [Int] {
            var drained: [Int] = []
            while let number = next() { drained.append(number) }
            return drained
        }
    }

    @Test("10,000 exchanges without a deadline are served in their order")
    func unlimited() throws {
        var stage = Stage()
        for number in 1...10_000 { try stage.enter(number) }
        #expect(stage.drain() == Array(1...10_000))
        #expect(stage.line.count == 0)
    }

    @Test("a deadline of a week, as sessions have it, counts as none")
    func week() throws {
        var stage = Stage()
        try stage.enter(1, 10)
        try stage.enter(2, 7 * 86_400_000)
        try stage.enter(3)
        #expect(stage.drain() == [-1, 2, 3])
    }

    @Test("hopeless ones are refused, doubtful ones let good ones go first, and others keep their places")
    func mixed() throws {
        var stage = Stage()
        try stage.enter(1)
        try stage.enter(2, 50)
        try stage.enter(3, 10)
        try stage.enter(4)
        try stage.enter(5, 500)
        try stage.enter(6, 60)
        try stage.enter(7, 400)
        #expect(stage.line.count == 7)
        // 2 trades its place with 5, and then with 7.
        #expect(stage.drain() == [1, -3, 5, 4, 7, 6, 2])
    }

    @Test("an exchange that came in this turn has not waited, and is not refused")
    func unwaited() throws {
        var stage = Stage()
        try stage.enter(1, 10, turn: 2)
        try stage.enter(2, 10, turn: 1)
        #expect(stage.drain() == [1, -2])
    }

    @Test("nothing is refused as long as fewer than ten responses are known")
    func unknown() throws {
        var stage = Stage()
        stage.latencies = LatencyWindow()
        for _ in 0..<9 { stage.latencies.note(40 * Self.millisecond, at: Self.now) }
        for number in 1...5 { try stage.enter(number, UInt64(number)) }
        #expect(stage.drain() == [1, 2, 3, 4, 5])
    }

    @Test("without regard to deadlines the line is first come, first served")
    func off() throws {
        var stage = Stage { $0.refusesUnreachableDeadlines = false }
        for number in 1...5 { try stage.enter(number, 10) }
        #expect(stage.drain() == [1, 2, 3, 4, 5])
    }

    @Test("newest first still refuses the hopeless")
    func newest() throws {
        var stage = Stage { $0.waitingOrder = .newestFirst }
        try stage.enter(1)
        try stage.enter(2, 10)
        try stage.enter(3, 500)
        try stage.enter(4)
        #expect(stage.drain() == [4, 3, -2, 1])
    }

    @Test("who would be served last is removed first", arguments: TransportOptions.WaitingOrder.allCases)
    func last(order: TransportOptions.WaitingOrder) throws {
        var stage = Stage { $0.waitingOrder = order }
        for number in 1...6 { try stage.enter(number, number.isMultiple(of: 2) ? 500 : nil) }
        let removed = (0..<7).map { _ in stage.line.removeLast()?.entry.number }
        #expect(removed == (order == .oldestFirst ? [6, 5, 4, 3, 2, 1, nil] : [1, 2, 3, 4, 5, 6, nil]))
    }

    @Test("who leaves is not served, wherever it waits")
    func leaving() throws {
        var stage = Stage()
        for number in 1...9 { try stage.enter(number, [nil, 500, 50][number % 3]) }
        #expect(stage.next() == 1)
        for number in [2, 4, 9, 4] { stage.leave(number) }
        #expect(stage.line.count == 5)
        #expect(Set(stage.drain()) == [3, 5, 6, 7, 8])
    }

    /// What happens to a line: an exchange enters, or one is served.
    private enum Event: CaseIterable {
        case open, good, doubtful, hopeless, serve

        /// The milliseconds to the deadline of an exchange that enters.
        var milliseconds: UInt64? {
            switch self {
            case .open, .serve: nil
            case .good: 500
            case .doubtful: 50
            case .hopeless: 10
            }
        }
    }

    private static func sequences(of length: Int) -> [[Event]] {
        guard length > 0 else { return [[]] }
        return sequences(of: length - 1).flatMap { start in Event.allCases.map { start + [$0] } }
    }

    @Test("whatever enters, nobody without a deadline is overtaken, and no good one waits for a doubtful one")
    func exhaustive() throws {
        for sequence in Self.sequences(of: 6) {
            var stage = Stage()
            var waiting: [Int: Event] = [:]
            /// Those that entered before each one and have not come out yet; the hopeless do not count.
            var before: [Int: Int] = [:]
            var (lastOpen, lastGood) = (0, 0)
            /// Checks one that comes out, and returns false for none.
            func takeNext() -> Bool {
                guard let number = stage.next() else { return false }
                let kind = waiting.removeValue(forKey: abs(number))
                #expect((number < 0) == (kind == .hopeless), "\(sequence): \(number)")
                guard number > 0 else { return true }
                for other in waiting.keys { before[other, default: 0] -= 1 }
                switch kind {
                case .open:
                    #expect(before[number] == 0 && number > lastOpen, "\(sequence): \(number)")
                    lastOpen = number
                case .good:
                    #expect(number > lastGood, "\(sequence): \(number)")
                    lastGood = number
                case .doubtful: #expect(!waiting.values.contains(.good), "\(sequence): \(number)")
                case .hopeless, .serve, nil: Issue.record("\(sequence): \(number)")
                }
                return true
            }
            for (index, event) in sequence.enumerated() {
                guard event != .serve else {
                    _ = takeNext()
                    continue
                }
                before[index + 1] = waiting.values.count { $0 != .hopeless }
                waiting[index + 1] = event
                try stage.enter(index + 1, event.milliseconds)
            }
            while takeNext() {}
            #expect(waiting.isEmpty && stage.line.count == 0, "\(sequence)")
        }
    }

    @Test("a stream of good ones does not starve who came before them without a deadline")
    func starvation() throws {
        var stage = Stage()
        try stage.enter(1, 50)
        try stage.enter(2)
        var served: [Int] = []
        for number in 3...1000 {
            try stage.enter(number, 500)
            served += [stage.next()].compactMap(\.self)
        }
        #expect(served.prefix(3) == [3, 2, 4])
        #expect(stage.drain() == [1000, 1])
    }

    @Test("one whose place was taken leaves from the place that it got")
    func leavingAfterTrade() throws {
        var stage = Stage()
        try stage.enter(1, 50)
        try stage.enter(2)
        try stage.enter(3, 500)
        try stage.enter(4, 60)
        #expect(stage.next() == 3)
        stage.leave(1)
        #expect(stage.line.count == 2)
        #expect(stage.drain() == [2, 4])
    }

    @Test("in any mixture every exchange comes out once, and those without a deadline in their order")
    func random() throws {
        for _ in 0..<200 {
            var stage = Stage()
            let times = (1...60).map { _ in Bool.random() ? nil : UInt64.random(in: 0...200) }
            for (index, time) in times.enumerated() { try stage.enter(index + 1, time) }
            let drained = stage.drain()
            #expect(Set(drained.map(abs)) == Set(1...60) && drained.count == 60)
            let free = drained.filter { $0 > 0 && times[$0 - 1] == nil }
            #expect(free == free.sorted() && free.count == times.count { $0 == nil })
            let refused = drained.filter { $0 < 0 }.map { times[-$0 - 1] ?? .max }
            #expect(refused.allSatisfy { $0 < 40 } && refused.count == times.count { $0 ?? .max < 40 })
        }
    }
}
