import FixtureServer
import Testing

@testable import FireweedCLI

@Suite("Results in turn", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ResultsInTurnTests {
    @Test("results come in the order of their numbers, whoever is first", arguments: [1, 3, 16])
    func order(workers: Int) async {
        let results = ResultsInTurn<Int>(count: 200, lead: 8)
        var read: [Int] = []
        await withDiscardingTaskGroup { group in
            for _ in 0..<workers {
                group.addTask {
                    while let number = await results.begin() {
                        for _ in 0..<(number % 7) { await Task.yield() }
                        results.finish(number, number * number)
                    }
                }
            }
            while let ready = await results.next() { read += ready }
        }
        #expect(read == (0..<200).map { $0 * $0 })
    }

    @Test("nobody begins a number that is too far ahead of the reader")
    func lead() async {
        let results = ResultsInTurn<Int>(count: 5, lead: 2)
        let begun = [await results.begin(), await results.begin()]
        async let third = results.begin()
        results.finish(1, 11)  // not the oldest: nothing is to be read, and no number is free
        results.finish(0, 10)
        #expect(begun == [0, 1])
        #expect(await results.next() == [10, 11])
        #expect(await third == 2)
        #expect(await results.begin() == 3)
    }

    @Test("after a stop nobody begins, and the reader gets what is there and no more")
    func stop() async {
        let results = ResultsInTurn<Int>(count: 5, lead: 2)
        let begun = [await results.begin(), await results.begin()]
        results.finish(0, 10)
        async let third = results.begin()
        results.stop()
        #expect(begun == [0, 1])
        #expect(await third == nil)
        #expect(await results.next() == [10])
        #expect(await results.next() == nil)
    }
}
