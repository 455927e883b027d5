import FixtureServer
import Testing

@Suite("The log of a server's events")
struct EventLogTests {
    @Test("of very many events the last are kept, so that a server may run for days")
    func bounded() {
        let log = EventLog<Int>()
        for number in 1...450_000 { log.note(number) }
        let kept = log.events
        #expect(kept.count < 300_000 && kept.last == 450_000)
        #expect(kept == Array((450_001 - kept.count)...450_000))
    }
}
