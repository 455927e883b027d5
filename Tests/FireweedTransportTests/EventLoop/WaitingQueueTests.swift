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

    @Test("who waits again has the place of its number, who leaves is not served")
    func places() {
        var line = WaitingQueue<String>()
        let first = line.enter("a")
        _ = line.enter("b")
        let third = line.enter("c")
        line.leave(third)
        line.leave(third)
        #expect(line.count == 2)
        #expect(line.first { $0 != "a" } == "b")
        #expect(line.next() == "a")
        line.leave(first)
        line.enter("c", number: third)
        line.enter("a", number: first)
        #expect(line.first == "a")
        let served = (0..<4).map { _ in line.next() }
        #expect(served == ["a", "b", "c", nil])
    }

    @Test("members that come back in any order are served in their first one")
    func returning() {
        var line = WaitingQueue<Int>()
        for member in 1...200 { _ = line.enter(member) }
        let refused = (1...100).compactMap { _ in line.next() }
        for member in refused.shuffled() { line.enter(member, number: member) }
        _ = line.enter(201)
        var served: [Int] = []
        while let member = line.next() { served.append(member) }
        #expect(served == Array(1...201))
    }

    /// A search over the places that were left would take some ten minutes.
    @Test("the ends of a line are found at once when nearly all members have left")
    func ends() {
        let count = 400_000
        var line = WaitingQueue<Int>()
        for member in 1...count { _ = line.enter(member) }
        var isRight = true
        for member in 1..<count / 2 {
            line.leave(member)
            line.leave(count + 1 - member)
            isRight = isRight && line.first == member + 1 && line.last == count - member
        }
        #expect(isRight && line.count == 2)
    }

    @Test("a line behaves as a sorted list does, whatever is done to it")
    func model() {
        var random = SystemRandomNumberGenerator()
        var line = WaitingQueue<Int>()
        var list: [Int] = []
        var served: [Int] = []
        for newest in 1...20_000 {
            switch Int.random(in: 0...9, using: &random) {
            case 0...3:
                list.append(newest)
                line.enter(newest, number: newest)
            case 4 where !served.isEmpty:
                let number = served.remove(at: Int.random(in: 0..<served.count, using: &random))
                list.insert(number, at: list.firstIndex { $0 > number } ?? list.count)
                line.enter(number, number: number)
            case 5 where !list.isEmpty:
                let number = list.remove(at: Int.random(in: 0..<list.count, using: &random))
                line.leave(number)
                served.append(number)
            case 6:
                #expect(line.removeLast() == list.last)
                if !list.isEmpty { served.append(list.removeLast()) }
            default:
                #expect(line.next() == list.first)
                if !list.isEmpty { served.append(list.removeFirst()) }
            }
            #expect(line.count == list.count && line.first == list.first && line.last == list.last)
            let number = Int.random(in: 0...newest + 1, using: &random)
            #expect(line.first(from: number) { $0 % 3 > 0 } == list.first { $0 >= number && $0 % 3 > 0 })
        }
        #expect(line.first(from: .max) { _ in true } == nil)
    }
}
