import Testing

@testable import FireweedTransport

@Suite("The turns of a loop")
struct TurnBudgetTests {
    /// Counts its calls, and may use up the turn.
    private final class Work: NextIteration, TurnEnding {
        private let context: LoopContext
        private let usesTurnUp: Bool
        private(set) var count = 0

        init(_ context: LoopContext, usesTurnUp: Bool = true) {
            (self.context, self.usesTurnUp) = (context, usesTurnUp)
        }

        func continueWork() {
            count += 1
            if usesTurnUp { context.turn.noteDecoded(TurnBudget.decodedByteCount) }
        }

        func turnEnds() { continueWork() }
    }

    @Test("end by time, which is looked at after work that costs enough")
    func time() {
        var now: UInt64 = 0
        var looks = 0
        let clock = {
            looks += 1
            return now
        }
        var turn = TurnBudget(start: 0, clock: clock)
        for _ in 0..<1000 { turn.noteCost(TurnBudget.callCost) }
        #expect(looks == 1000 * TurnBudget.callCost / TurnBudget.costOfLook && !turn.isOver)
        now = TurnBudget.time
        turn.noteCost(TurnBudget.costOfLook)
        #expect(turn.isOver)
        turn = TurnBudget(start: now, clock: clock)
        #expect(!turn.isOver)
        turn.noteDecoded(TurnBudget.decodedByteCount)
        #expect(turn.isOver)
    }

    @Test("make one continuation at least, and the others in their order in later turns")
    func continuations() throws {
        let context = try LoopContext.forTests()
        let works = (0..<3).map { _ in Work(context) }
        for work in works { context.continueAfterSockets(work) }
        for turn in 1...3 {
            context.beginBudget()
            context.runContinuations()
            #expect(works.map(\.count) == (0..<3).map { $0 < turn ? 1 : 0 })
            #expect((context.sleepMilliseconds() == 0) == (turn < 3))
        }
        for work in works { context.continueAfterSockets(work) }
        // A turn that is over before makes one call still.
        context.turn.noteDecoded(TurnBudget.decodedByteCount)
        context.runContinuations()
        #expect(works.map(\.count) == [2, 1, 1])
    }

    @Test("make one call of dear work, after everything that is cheap")
    func dearWork() throws {
        let context = try LoopContext.forTests()
        let works = (0..<3).map { _ in Work(context, usesTurnUp: false) }
        let (dear, cheap) = (works[..<2], works[2])
        for work in dear { context.continueWithDearWork(work) }
        for turn in 1...2 {
            context.beginBudget()
            context.continueAfterSockets(cheap)
            context.runContinuations()
            #expect(cheap.count == turn && dear.map(\.count) == [turn > 1 ? 1 : 0, 0])
            context.runDearWork()
            #expect(dear.map(\.count) == [1, turn - 1])
        }
        #expect(context.sleepMilliseconds() == -1)
    }

    @Test("report a few ends though they are over, and the others in later turns")
    func endings() throws {
        let context = try LoopContext.forTests()
        let works = (0..<40).map { _ in Work(context) }
        context.turn.noteDecoded(TurnBudget.decodedByteCount)
        for work in works { context.atEndOfTurn(work) }
        #expect(works.allSatisfy { $0.count == 0 })
        for expected in [16, 32, 40] {
            context.endTurn()
            #expect(works.prefix(expected).allSatisfy { $0.count == 1 })
            #expect(works.dropFirst(expected).allSatisfy { $0.count == 0 })
        }
        #expect(context.sleepMilliseconds() == -1)
    }

    @Test("are reported when they use too much CPU time, with the work that used most of it")
    func watch() {
        var now: UInt64 = 0
        var reports: [String] = []
        let watch = TurnWatch(limit: 20_000_000, clock: { now }, report: { reports.append($0) })
        func run(_ name: String, milliseconds: UInt64, isExempt: Bool = false) {
            watch.measure(name, isExempt: isExempt) { now += milliseconds * 1_000_000 }
        }
        run("cheap", milliseconds: 20)
        watch.turnEnds()
        run("a task", milliseconds: 500, isExempt: true)
        watch.turnEnds()
        #expect(reports.isEmpty)
        run("first", milliseconds: 6)
        run("second", milliseconds: 12)
        run("third", milliseconds: 3)
        watch.turnEnds()
        #expect(reports == ["fireweed: a turn of an event loop used 21 ms of CPU time, 12 ms of it in second"])
    }
}

extension LoopContext {
    /// A context without a thread.
    static func forTests() throws -> LoopContext {
        let poller = try #require(Poller())
        defer { poller.close() }
        return LoopContext(loop: try #require(EventLoopGroup.loops(1).first), poller: poller)
    }
}
