import Testing

@testable import FireweedTransport

@Suite("Deadlines of a loop")
struct DeadlineHeapTests {
    private final class Alarm: DeadlineEntry {
        var moment: LoopInstant?
        var calls: [LoopInstant] = []

        override func timeReached(at now: LoopInstant) { calls.append(now) }
    }

    @Test("the heap has the earliest moment first, whatever is set, changed and removed")
    func model() {
        var random = SystemRandomNumberGenerator()
        let heap = DeadlineHeap()
        let alarms = (0..<50).map { _ in Alarm() }
        for _ in 0..<20_000 {
            let alarm = alarms[Int.random(in: 0..<alarms.count, using: &random)]
            let moment = LoopInstant.random(in: 0...1000, using: &random)
            switch Int.random(in: 0...3, using: &random) {
            case 0:
                heap.remove(alarm)
                alarm.moment = nil
            case 1:
                heap.lower(alarm, to: moment)
                alarm.moment = min(alarm.moment ?? .max, moment)
            default:
                heap.set(alarm, to: moment)
                alarm.moment = moment
            }
            #expect(heap.first == alarms.compactMap(\.moment).min())
            #expect(heap.count == alarms.count { $0.moment != nil })
        }
    }

    @Test("each object whose moment has come is called once, and is not in the heap any more")
    func due() throws {
        let (heap, context) = (DeadlineHeap(), try LoopContext.forTests())
        let alarms = (0..<10).map { _ in Alarm() }
        for (index, alarm) in alarms.enumerated() {
            heap.set(alarm, to: index < 5 ? context.now - LoopInstant(index) : .max - LoopInstant(index))
        }
        heap.callDue(in: context)
        heap.callDue(in: context)
        #expect(alarms.map(\.calls.count) == [1, 1, 1, 1, 1, 0, 0, 0, 0, 0])
        #expect(heap.count == 5 && heap.first == .max - 9)
    }

    @Test("of many objects some are called though the turn is over, and the others in later turns")
    func manyDue() throws {
        let (heap, context) = (DeadlineHeap(), try LoopContext.forTests())
        let alarms = (0..<150).map { _ in Alarm() }
        for alarm in alarms { heap.set(alarm, to: context.now) }
        context.turn.noteDecoded(TurnBudget.decodedByteCount)
        for expected in [64, 128, 150] {
            heap.callDue(in: context)
            #expect(alarms.count { $0.calls.count == 1 } == expected && heap.count == 150 - expected)
        }
    }
}
