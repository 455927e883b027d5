import Testing

@testable import FireweedTransport

@Suite("The line of names to look up")
struct LookupLineTests {
    private let second: LoopInstant = 1_000_000_000

    private func question(_ host: String) -> NameQuestion { NameQuestion(host: host, family: .ipv4) }

    private func next(_ line: inout LookupLine, _ now: LoopInstant) -> NameQuestion? { line.next(at: now) }

    @Test("names leave the line in order, as threads are free")
    func order() {
        var line = LookupLine(threadLimit: 2)
        for host in ["a", "b", "c"] { line.enter(question(host)) }
        let begun = [line.next(at: 0), line.next(at: 0), line.next(at: 0)]
        #expect(begun == [question("a"), question("b"), nil])
        line.didEnd(question("b"), at: 1)
        #expect(next(&line, 1) == question("c"))
    }

    @Test("names that were slow use no more than half of the threads")
    func slow() {
        var line = LookupLine(threadLimit: 4)
        for host in ["s1", "s2", "s3"] {
            line.enter(question(host))
            #expect(next(&line, 0) != nil)
            line.didEnd(question(host), at: 5 * second)
        }
        for host in ["s1", "s2", "s3", "quick"] { line.enter(question(host)) }
        let begun = (0..<4).map { _ in next(&line, 6 * second) }
        #expect(begun == [question("s1"), question("s2"), question("quick"), nil])
        line.didEnd(question("s1"), at: 6 * second + 1)
        // Its answer was quick: it is a name like any other again.
        #expect(next(&line, 6 * second + 1) == question("s3"))
    }

    @Test("a name that hangs now counts as slow")
    func hanging() {
        var line = LookupLine(threadLimit: 2)
        line.enter(question("slow"))
        _ = line.next(at: 0)
        line.didEnd(question("slow"), at: 2 * second)
        line.enter(question("new"))
        _ = line.next(at: 3 * second)
        line.enter(question("slow"))
        #expect(next(&line, 3 * second) == question("slow"))
        line.didEnd(question("slow"), at: 5 * second)
        line.enter(question("slow"))
        #expect(next(&line, 5 * second) == nil)
    }

    @Test("a name without waiters leaves the queue, unless its look-up runs")
    func leave() {
        var line = LookupLine(threadLimit: 1)
        line.enter(question("a"))
        line.enter(question("b"))
        _ = line.next(at: 0)
        let left = [line.leave(question("a")), line.leave(question("b"))]
        #expect(left == [false, true])
        line.didEnd(question("a"), at: 0)
        #expect(next(&line, 0) == nil)
    }
}
