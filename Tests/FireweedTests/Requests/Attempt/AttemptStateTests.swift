import Testing

@testable import Fireweed

@Suite("Attempt state table")
struct AttemptStateTests {
    typealias Event = AttemptState.Event
    typealias Stage = AttemptState.Stage
    typealias Effects = AttemptState.Effects

    /// How to get to each stage.
    static let ways: [Stage: [Event]] = [
        .ready: [],
        .preparing: [.start],
        .waiting: [.start, .waits],
        .sent: [.start, .sends],
        .deciding(.open): [.start, .sends, .asks],
        .deciding(.over(hasFailed: false)): [.start, .sends, .asks, .finishes(hasFailed: false, isRecorded: false)],
        .deciding(.over(hasFailed: true)): [.start, .sends, .asks, .finishes(hasFailed: true, isRecorded: false)],
        .delivering: [.start, .sends, .delivers],
        .leaving: [.start, .sends, .leaves(isRecorded: false)],
        .saving(thenProceeds: false): [.start, .sends, .delivers, .finishes(hasFailed: false, isRecorded: true)],
        .saving(thenProceeds: true): [
            .start, .sends, .leaves(isRecorded: true), .finishes(hasFailed: false, isRecorded: true),
        ],
        .cancelling: [.start, .sends, .cancel],
        .ended: [.cancel],
    ]

    static let events: [Event] = [
        .start, .suspend, .resume, .full, .room, .cancel, .waits, .wakes, .fails, .sends, .asks, .delivers, .passes,
        .leaves(isRecorded: false), .leaves(isRecorded: true), .fallsBack, .saved,
        .finishes(hasFailed: false, isRecorded: false), .finishes(hasFailed: true, isRecorded: false),
        .finishes(hasFailed: false, isRecorded: true), .finishes(hasFailed: true, isRecorded: true),
    ]

    struct Row: Sendable {
        let stage: Stage
        let event: Event
        let next: Stage
        let effects: Effects
    }

    private static func row(_ stage: Stage, _ event: Event, _ next: Stage, _ effects: Effects = []) -> Row {
        Row(stage: stage, event: event, next: next, effects: effects)
    }

    /// Everything that does something; what is not here does nothing.
    static let rows: [Row] =
        [
            row(.ready, .start, .preparing, .launch),
            row(.ready, .cancel, .ended, .end),

            row(.preparing, .cancel, .preparing),
            row(.preparing, .waits, .waiting),
            row(.preparing, .fails, .ended, .end),
            row(.preparing, .sends, .sent, .startTransfer),

            row(.waiting, .cancel, .ended, [.stopWaiting, .end]),
            row(.waiting, .wakes, .preparing),
            row(.waiting, .fails, .ended, .end),

            row(.sent, .suspend, .sent, .setFlow),
            row(.sent, .cancel, .cancelling, .cancelTransfer),
            row(.sent, .asks, .deciding(.open)),
            row(.sent, .delivers, .delivering),
            row(.sent, .leaves(isRecorded: false), .leaving, .discard),
            row(.sent, .leaves(isRecorded: true), .leaving),
            row(.sent, .fallsBack, .preparing, .proceed),

            row(.deciding(.open), .suspend, .deciding(.open), .setFlow),
            row(.deciding(.open), .cancel, .cancelling, [.stopWaiting, .cancelTransfer]),
            row(.deciding(.open), .passes, .delivering, .setFlow),
            row(.deciding(.open), .leaves(isRecorded: false), .leaving, [.setFlow, .discard]),
            row(.deciding(.open), .leaves(isRecorded: true), .leaving, .setFlow),
            row(
                .deciding(.open), .finishes(hasFailed: false, isRecorded: false), .deciding(.over(hasFailed: false))),
            row(.deciding(.open), .finishes(hasFailed: false, isRecorded: true), .deciding(.over(hasFailed: false))),
            row(.deciding(.open), .finishes(hasFailed: true, isRecorded: false), .deciding(.over(hasFailed: true))),
            row(.deciding(.open), .finishes(hasFailed: true, isRecorded: true), .deciding(.over(hasFailed: true))),

            row(.delivering, .suspend, .delivering, .setFlow),
            row(.delivering, .full, .delivering, .setFlow),
            row(.delivering, .cancel, .cancelling, .cancelTransfer),
            row(.delivering, .finishes(hasFailed: false, isRecorded: false), .ended, .end),
            row(.delivering, .finishes(hasFailed: true, isRecorded: false), .ended, .end),
            row(.delivering, .finishes(hasFailed: true, isRecorded: true), .ended, .end),
            row(.delivering, .finishes(hasFailed: false, isRecorded: true), .saving(thenProceeds: false), .save),

            row(.leaving, .suspend, .leaving, .setFlow),
            row(.leaving, .cancel, .leaving, .cancelTransfer),
            row(.leaving, .finishes(hasFailed: false, isRecorded: false), .preparing, .proceed),
            row(.leaving, .finishes(hasFailed: true, isRecorded: false), .preparing, .proceed),
            row(.leaving, .finishes(hasFailed: true, isRecorded: true), .preparing, .proceed),
            row(.leaving, .finishes(hasFailed: false, isRecorded: true), .saving(thenProceeds: true), .save),

            row(.saving(thenProceeds: false), .saved, .ended, .end),
            row(.saving(thenProceeds: false), .cancel, .ended, .end),
            row(.saving(thenProceeds: true), .saved, .preparing, .proceed),
            row(.saving(thenProceeds: true), .cancel, .ended, .end),

            row(.deciding(.open), .fallsBack, .deciding(.over(hasFailed: true))),
            row(.delivering, .fallsBack, .ended, .end),
            row(.leaving, .fallsBack, .preparing, .proceed),
            row(.cancelling, .fallsBack, .ended, .end),
        ] + endings

    private static let endings: [Row] =
        [Stage.sent, .cancelling].flatMap { stage in
            events.filter { if case .finishes = $0 { true } else { false } }.map { row(stage, $0, .ended, .end) }
        }
        + [false, true].flatMap { hasFailed in
            let stage = Stage.deciding(.over(hasFailed: hasFailed))
            return [
                row(stage, .cancel, .ended, [.stopWaiting, .end]), row(stage, .passes, .ended, .end),
                row(stage, .leaves(isRecorded: false), .preparing, .proceed),
                row(stage, .leaves(isRecorded: true), .preparing, .proceed),
            ]
        }

    @Test("every event in every stage", arguments: ways.keys.sorted { "\($0)" < "\($1)" })
    func table(stage: Stage) throws {
        for event in Self.events {
            var state = AttemptState()
            for step in try #require(Self.ways[stage]) { _ = state.handle(step) }
            #expect(state.stage == stage)
            let row = Self.rows.first { $0.stage == stage && $0.event == event }
            let effects = state.handle(event)
            #expect(state.stage == row?.next ?? stage, "\(stage) \(event)")
            #expect(effects == row?.effects ?? [], "\(stage) \(event)")
        }
    }

    @Test("a response that is to be stored is stored before anything else happens, whatever was decided about it")
    func recorded() {
        for (decision, next) in [(Event.passes, false), (.leaves(isRecorded: true), true)] {
            var state = AttemptState()
            for event in [Event.start, .sends, .asks, .finishes(hasFailed: false, isRecorded: true)] {
                _ = state.handle(event)
            }
            #expect(state.handle(decision) == .save && state.stage == .saving(thenProceeds: next))
        }
    }

    @Test("an attempt that was cancelled while its message was made is not sent", arguments: [Event.sends, .waits])
    func cancelledWhilePreparing(event: Event) {
        var state = AttemptState()
        for step in [Event.start, .cancel] { _ = state.handle(step) }
        #expect(state.handle(event) == .end && state.stage == .ended)
    }

    @Test("a message does not follow after a cancel")
    func cancelledWhileLeaving() {
        var state = AttemptState()
        for step in [Event.start, .sends, .leaves(isRecorded: false), .cancel] { _ = state.handle(step) }
        #expect(state.handle(.finishes(hasFailed: false, isRecorded: false)) == .end)
    }

    @Test("what holds one response back does not hold back the next one, apart from a suspension")
    func holdsOfTheNextMessage() {
        var state = AttemptState()
        for step in [Event.start, .sends, .asks, .suspend, .finishes(hasFailed: false, isRecorded: false)] {
            _ = state.handle(step)
        }
        _ = state.handle(.leaves(isRecorded: false))
        #expect(state.stage == .preparing && state.holds.flow.level == .suspended)
        _ = state.handle(.resume)
        #expect(state.holds.flow.level == .running)
    }
}
