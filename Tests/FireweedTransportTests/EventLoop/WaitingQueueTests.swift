import Testing

@testable import FireweedTransport

@Suite("Waiting line")
struct WaitingLineTests {
    @Test("first come, first served")
    func order() {
        var line = WaitingQueue<Int>()
        for member in 0..<1000 { _ = line.enter(member) }
        var served: [Int] = []
        while let member = line.next() { served.append(member) }
        #expect(served == Array(0..<1000))
        #expect(line.count == 0)
    }

    @Test("who waits again stands in front, who leaves is not served")
    func places() {
        var line = WaitingQueue<String>()
        let first = line.enter("a")
        _ = line.enter("b")
        let third = line.enter("c")
        let front = line.enterFirst("again")
        line.leave(third)
        line.leave(third)
        #expect(line.count == 3)
        #expect(line.first { $0 != "again" } == "a")
        let next = line.next()
        #expect(next == "again")
        line.leave(front)
        let place = line.enterFirst("once more")
        #expect(place == front)
        line.leave(first)
        let served = [line.next(), line.next(), line.next()]
        #expect(served == ["once more", "b", nil])
    }

    @Test("a line behaves as a list does, whatever is done to it")
    func model() {
        var random = SystemRandomNumberGenerator()
        var line = WaitingQueue<Int>()
        var list: [(member: Int, place: Int)] = []
        for member in 0..<20_000 {
            switch Int.random(in: 0...9, using: &random) {
            case 0...3: list.append((member, line.enter(member)))
            case 4: list.insert((member, line.enterFirst(member)), at: 0)
            case 5 where !list.isEmpty:
                let left = list.remove(at: Int.random(in: 0..<list.count, using: &random))
                line.leave(left.place)
            default:
                let next = line.next()
                #expect(next == (list.isEmpty ? nil : list.removeFirst().member))
            }
            #expect(line.count == list.count)
        }
    }
}
