import FireweedTesting
import FireweedTransport
import FixtureServer
import Foundation
import Testing

@Suite("Transports: flow from many threads", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RandomFlowConformanceTests {
    /// A new one for each run; a failure names it.
    private static let seed = UInt64.random(in: .min ... .max)

    /// The decisions about one transfer, in the order in which each thread makes its share.
    private struct Plan {
        static let threadCount = 3
        let decisions: [Flow]
        let startIndex: Int

        init(_ random: inout SeededGenerator) {
            let levels: [Flow.Level] = [.running, .receivingPaused, .suspended]
            let count = UInt64.random(in: 1...12, using: &random)
            decisions = (1...count)
                .map { Flow(levels.randomElement(using: &random) ?? .running, revision: $0) }
                .shuffled(using: &random)
            startIndex = decisions.indices.randomElement(using: &random) ?? 0
        }

        /// What counts in the end.
        var last: Flow { decisions.max { $0.revision < $1.revision } ?? .undecided }

        func perform(on transfer: RecordedTransfer) async {
            await withTaskGroup { group in
                for thread in 0..<Self.threadCount {
                    group.addTask {
                        for index in stride(from: thread, to: decisions.count, by: Self.threadCount) {
                            if index == startIndex {
                                transfer.start(decisions[index])
                            } else {
                                transfer.setFlow(decisions[index].level, revision: decisions[index].revision)
                            }
                        }
                    }
                }
            }
        }
    }

    @Test(
        "the decision with the highest revision counts, in whatever order decisions come",
        arguments: ConformanceSubjects.all)
    func random(subject: any ConformanceSubject) async throws {
        var random = SeededGenerator(seed: Self.seed)
        try await ConformanceStage.play(subject) { stage in
            for _ in 0..<20 {
                let plays = try (0..<12).map { _ in (Plan(&random), try stage.transfer(of: .medium)) }
                for (plan, transfer) in plays { await plan.perform(on: transfer) }
                try await stage.otherWork()
                let counts = plays.map { $0.1.recorder.calls.events.count }
                try await stage.otherWork()
                for ((plan, transfer), count) in zip(plays, counts) where plan.last.level != .running {
                    let comment: Comment = "seed \(Self.seed), \(plan.decisions), start at \(plan.startIndex)"
                    let isStill = transfer.recorder.calls.events.count == count && transfer.record.end == nil
                    // A head may still come where receiving alone is paused.
                    let isHead = transfer.recorder.calls.events == [.head] && plan.last.level == .receivingPaused
                    // All content may have come before the decision.
                    let isOver = transfer.record.content.count == ScenarioContent.medium.count
                    #expect(isStill || isHead || isOver, comment)
                    transfer.setFlow(.running, revision: plan.last.revision + 1)
                }
                for (plan, transfer) in plays {
                    let comment: Comment = "seed \(Self.seed), \(plan.decisions), start at \(plan.startIndex)"
                    #expect(try await transfer.end().failure == nil, comment)
                    #expect(transfer.record.content == ScenarioContent.medium, comment)
                }
            }
        }
    }
}
