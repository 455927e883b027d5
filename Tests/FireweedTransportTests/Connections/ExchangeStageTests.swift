import Testing

@testable import FireweedTransport

@Suite("The stages of an exchange")
struct ExchangeStageTests {
    private static let events = ExchangeStage.Event.allCases

    @Test("however it goes, an exchange is reported exactly once", arguments: events, events)
    func reportsOnce(first: ExchangeStage.Event, second: ExchangeStage.Event) {
        for third in Self.events {
            for start in [[ExchangeStage.Event.start], []] {
                var stage = ExchangeStage.made
                let effects = (start + [first, second, third, .end, .end]).map { stage.handle($0) }
                let reports: [ExchangeStage.Effect] = [.report, .leaveAndReport, .releaseAndReport]
                #expect(effects.count { reports.contains($0) } == 1)
                #expect(stage == .finished)
            }
        }
    }

    @Test("an exchange that lost its connection waits in front, and is sent again on the next one")
    func again() {
        var stage = ExchangeStage.made
        let effects = [ExchangeStage.Event.start, .attach, .detach, .attach, .end].map { stage.handle($0) }
        #expect(effects == [.enter, .send, .enterAgain, .send, .releaseAndReport])
    }
}
