import Testing

@testable import FireweedTransport

@Suite("The line of names to look up")
struct LookupLineTests {
    private let second: LoopInstant = 1_000_000_000

    private func next(_ line: inout LookupQueue, _ now: LoopInstant) -> String? { line.next(at: now) }

    /// Looks a name up, which takes so long.
    private func lookUp(_ name: String, _ line: inout LookupQueue, taking duration: LoopInstant) {
        line.enter(name)
        #expect(next(&line, 0) == name)
        line.didEnd(name, at: duration)
    }

    @Test("names leave the line in order, as threads are free")
    func order() {
        var line = LookupQueue(threadLimit: 4)
        for name in ["a", "b", "c"] { line.enter(name) }
        let begun = [line.next(at: 0), line.next(at: 0), line.next(at: 0)]
        #expect(begun == ["a", "b", nil])
        line.didEnd("b", at: 1)
        #expect(next(&line, 1) == "c")
    }

    @Test("names that were never answered take half of the threads, so that others are looked up at once")
    func neverAnswered() {
        var line = LookupQueue(threadLimit: 8)
        for number in 0..<4 { lookUp("known\(number)", &line, taking: 5) }
        for number in 0..<20 { line.enter("silent\(number)") }
        let silent = (0..<8).compactMap { _ in next(&line, 10) }
        #expect(silent == (0..<4).map { "silent\($0)" })
        for number in 0..<4 { line.enter("known\(number)") }
        let known = (0..<8).compactMap { _ in next(&line, 11) }
        #expect(known == (0..<4).map { "known\($0)" })
    }

    @Test("names whose last look-up was slow take a quarter of the threads, so that new names are looked up")
    func slow() {
        var line = LookupQueue(threadLimit: 8)
        for number in 0..<6 { lookUp("slow\(number)", &line, taking: 5 * second) }
        for number in 0..<6 { line.enter("slow\(number)") }
        line.enter("new")
        let begun = (0..<5).map { _ in next(&line, 6 * second) }
        #expect(begun == ["new", "slow0", "slow1", nil, nil])
        line.didEnd("slow0", at: 6 * second + 1)
        // A quick answer makes it a name like any other.
        line.enter("slow0")
        #expect(next(&line, 6 * second + 1) == "slow0")
    }

    @Test("a name that hangs now counts as slow")
    func hanging() {
        var line = LookupQueue(threadLimit: 4)
        lookUp("slow", &line, taking: 2 * second)
        line.enter("new")
        _ = line.next(at: 3 * second)
        line.enter("slow")
        let early = line.startableCount(at: 3 * second)
        let late = line.startableCount(at: 4 * second)
        #expect(early == 1 && late == 0)
        #expect(next(&line, 4 * second) == nil)
        line.didEnd("new", at: 5 * second)
        #expect(next(&line, 5 * second) == "slow")
    }

    @Test("an untried name that hangs gives its place back after a second, and a quarter of the threads stay free")
    func placesGivenBack() {
        var line = LookupQueue(threadLimit: 8)
        lookUp("known", &line, taking: 5)
        for number in 0..<20 { line.enter("silent\(number)") }
        var begunCounts: [Int] = []
        for now in [10, 10 + second - 1, 10 + second, 10 + 9 * second] {
            begunCounts.append((0..<20).compactMap { _ in next(&line, now) }.count)
        }
        // Six of eight threads hang: the rest is for names that were answered before.
        #expect(begunCounts == [4, 0, 2, 0])
        #expect(line.nextRoom(at: 10 + 9 * second) == nil)
        line.enter("known")
        #expect(next(&line, 10 + 9 * second) == "known")
    }

    @Test("the time of the next room is when the oldest of the untried look-ups turns slow, while names wait for it")
    func nextRoom() {
        var line = LookupQueue(threadLimit: 8)
        for number in 0..<4 {
            line.enter("silent\(number)")
            _ = next(&line, LoopInstant(number))
        }
        #expect(line.nextRoom(at: 4) == nil, "nobody waits")
        line.enter("new")
        #expect(line.nextRoom(at: 4) == second)
        #expect(line.startableCount(at: second - 1) == 0)
        #expect(line.startableCount(at: second) == 1)
        #expect(line.nextRoom(at: second) == nil, "the name may be looked up now")
        line.didEnd("silent0", at: 5)
        #expect(line.nextRoom(at: 5) == nil)
        #expect(next(&line, 5) == "new")
    }

    @Test("a name without waiters leaves the line, unless it is being looked up")
    func leave() {
        var line = LookupQueue(threadLimit: 1)
        line.enter("a")
        line.enter("b")
        _ = line.next(at: 0)
        let left = [line.leave("a"), line.leave("b")]
        #expect(left == [false, true])
        line.didEnd("a", at: 0)
        #expect(next(&line, 0) == nil)
    }

    @Test("whatever comes in whatever order, every name is looked up once and no thread is left idle")
    func random() {
        for _ in 0..<100 {
            let limit = [1, 2, 3, 8, 64].randomElement() ?? 1
            var line = LookupQueue(threadLimit: limit)
            var (waiting, running, now): (Set<String>, Set<String>, LoopInstant) = ([], [], 0)
            for _ in 0..<300 {
                now += LoopInstant.random(in: 0...second)
                let name = "\(Int.random(in: 0..<40))"
                switch Int.random(in: 0..<4) {
                case 0, 1:
                    if waiting.isDisjoint(with: [name]), !running.contains(name), waiting.insert(name).inserted {
                        line.enter(name)
                    }
                case 2:
                    let wasWaiting = waiting.remove(name) != nil
                    let left = line.leave(name)
                    #expect(left == wasWaiting)
                default:
                    if let ended = running.randomElement() {
                        running.remove(ended)
                        line.didEnd(ended, at: now)
                    }
                }
                // Time alone makes room at the announced moments, and at no others.
                var (moment, count) = (now, line.startableCount(at: now))
                while let room = line.nextRoom(at: moment) {
                    if room <= moment || line.startableCount(at: room - 1) > count { Issue.record("too late") }
                    (moment, count) = (room, line.startableCount(at: room))
                }
                if count == 0, line.startableCount(at: now + 10 * second) > 0 { Issue.record("not announced") }
                for _ in 0..<Int.random(in: 0...2) {
                    count = line.startableCount(at: now)
                    let begun = line.next(at: now)
                    #expect((count > 0) == (begun != nil))
                    guard let begun else { break }
                    if line.startableCount(at: now) != count - 1 { Issue.record("a wrong count") }
                    #expect(waiting.remove(begun) != nil)
                    running.insert(begun)
                }
                #expect(line.runningCount == running.count && running.count <= limit)
            }
            for ended in running { line.didEnd(ended, at: now) }
            while let begun = line.next(at: now) {
                #expect(waiting.remove(begun) != nil)
                line.didEnd(begun, at: now)
            }
            #expect(waiting.isEmpty)
        }
    }
}
