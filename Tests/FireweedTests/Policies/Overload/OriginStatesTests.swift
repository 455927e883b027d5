// The tables of many origins.

import Testing

@testable import Fireweed

@Suite("States of origins")
struct OriginStatesTests {
    private static func use(_ origin: Int, of states: inout OriginStates<Int>) {
        states.change("\(origin)", otherwise: { 0 }, removing: { $0 < 100 }) { $0 += 1 }
    }

    @Test("up to 256 origins are known")
    func few() {
        var states = OriginStates<Int>()
        for origin in 1...256 { Self.use(origin, of: &states) }
        #expect(states.states.count == 256)
    }

    @Test("of more origins those that were used least recently are forgotten")
    func many() {
        var states = OriginStates<Int>()
        for origin in 1...256 { Self.use(origin, of: &states) }
        for origin in 1...10 { Self.use(origin, of: &states) }
        Self.use(257, of: &states)
        // The half that was used last, and the new one.
        #expect(Set(states.states.keys) == Set(((1...10).map(\.self) + Array(139...257)).map { "\($0)" }))
        #expect(states.states["5"] == 2)
    }

    @Test("an origin that is in use all the time is never forgotten, however many others come")
    func often() {
        var states = OriginStates<Int>()
        for origin in 1...10_000 {
            Self.use(0, of: &states)
            Self.use(origin, of: &states)
        }
        #expect(states.states["0"] == 10_000)
        #expect(states.states.count <= 257)
    }

    @Test("what is not idle is kept, however long ago it was used")
    func busy() {
        var states = OriginStates<Int>()
        for origin in 1...300 { states.change("\(origin)", otherwise: { 1000 }, removing: { $0 < 100 }) { _ in } }
        for origin in 301...20_000 { Self.use(origin, of: &states) }
        #expect((1...300).allSatisfy { states.states["\($0)"] == 1000 })
        #expect(states.states.count <= 6 * 300)
    }
}
