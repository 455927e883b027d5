import Dispatch
import FixtureServer
import Synchronization
import Testing

@testable import FireweedTransport

@Suite("Blocking threads", .timeLimit(.minutes(TestTimeouts.minutes)))
struct BlockingThreadsTests {
    private struct Counts {
        var running = 0
        var most = 0
    }

    @Test("all work is done, in order and on no more threads than the limit allows", arguments: [1, 3])
    func limit(_ limit: Int) async {
        let threads = BlockingThreads(name: "test", limit: limit)
        let counts = Mutex(Counts())
        let (started, noteStarted) = AsyncStream<Int>.makeStream()
        let (ended, noteEnded) = AsyncStream<Int>.makeStream()
        let gate = DispatchGroup()
        gate.enter()
        for number in 0..<20 {
            threads.run { error in
                #expect(error == nil)
                counts.withLock { counts in
                    counts.running += 1
                    counts.most = max(counts.most, counts.running)
                }
                noteStarted.yield(number)
                gate.wait()
                counts.withLock { $0.running -= 1 }
                noteEnded.yield(number)
            }
        }
        // As many as there are threads begin, and the others wait for them.
        var first: Set<Int> = []
        for await number in started {
            first.insert(number)
            if first.count == limit { break }
        }
        #expect(first == Set(0..<limit))
        gate.leave()
        var done: [Int] = []
        for await number in ended {
            done.append(number)
            if done.count == 20 { break }
        }
        #expect(Set(done) == Set(0..<20))
        if limit == 1 { #expect(done == Array(0..<20)) }
        #expect(counts.withLock { $0.most } <= limit)
    }

    @Test("work gets an error where every thread is at work that does not return")
    func lost() async {
        let threads = BlockingThreads(name: "test", limit: 2, patience: .zero, lingering: .seconds(1))
        let (started, noteStarted) = AsyncStream<Void>.makeStream()
        let gate = DispatchSemaphore(value: 0)
        for _ in 0..<2 {
            threads.run { _ in
                noteStarted.yield()
                gate.wait()
            }
        }
        var beginnings = started.makeAsyncIterator()
        for _ in 0..<2 { await beginnings.next() }
        let isRefused: Bool = await withCheckedContinuation { continuation in
            threads.run { continuation.resume(returning: $0 != nil) }
        }
        #expect(isRefused)
        // A thread that returns works again.
        gate.signal()
        while await withCheckedContinuation({ continuation in
            threads.run { continuation.resume(returning: $0 != nil) }
        }) {}
        gate.signal()
    }

    @Test("work that comes after all threads have ended gets a thread again")
    func again() async {
        let threads = BlockingThreads(name: "test", limit: 2)
        for number in 0..<50 {
            let result = await withCheckedContinuation { continuation in
                threads.run { _ in continuation.resume(returning: number) }
            }
            #expect(result == number)
        }
    }
}
