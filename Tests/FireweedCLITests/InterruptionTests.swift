// Signals to this process: SIGHUP, which nothing else in it sends or waits for.

import FixtureServer
import Foundation
import Glibc
import Synchronization
import Testing

@testable import FireweedCLI

@Suite("Interruptions", .serialized, .timeLimit(.minutes(TestTimeouts.minutes)))
struct InterruptionTests {
    /// The command's main thread waits for signals.
    private static let waiting: Void = Thread { Interruption.wait() }.start()

    init() { Self.waiting }

    @Test("a signal that comes at once is told, and leaves its code")
    func atOnce() async {
        for _ in 0..<100 {
            let (told, continuation) = AsyncStream<Int32>.makeStream()
            let interruption = Interruption { continuation.yield($0) }
            #expect(interruption.code == nil)
            kill(getpid(), SIGHUP)
            var numbers = told.makeAsyncIterator()
            #expect(await numbers.next() == SIGHUP)
            #expect(interruption.code == .hungUp)
        }
    }

    @Test("the same signal right behind the first one is that one, as timeout(1) sends it")
    func doubled() async {
        let (told, continuation) = AsyncStream<Int32>.makeStream()
        let interruption = Interruption { continuation.yield($0) }
        kill(getpid(), SIGHUP)
        kill(getpid(), SIGHUP)
        continuation.yield(0)
        var numbers = told.makeAsyncIterator()
        let both = [await numbers.next(), await numbers.next()]
        #expect(both.contains(SIGHUP) && both.contains(0) && interruption.code == .hungUp)
    }

    @Test("of two interruptions the newer one is told first")
    func nested() async {
        let (told, continuation) = AsyncStream<String>.makeStream()
        let outer = Interruption { continuation.yield("outer") }
        let inner = Interruption { continuation.yield("inner") }
        kill(getpid(), SIGHUP)
        var names = told.makeAsyncIterator()
        #expect(await names.next() == "inner")
        #expect(await names.next() == "outer")
        #expect(outer.code == .hungUp && inner.code == .hungUp)
    }

    @Test("one that begins after a signal waits for the next one")
    func afterASignal() async {
        let (told, continuation) = AsyncStream<Int32>.makeStream()
        var numbers = told.makeAsyncIterator()
        for _ in 0..<2 {
            let interruption = Interruption { continuation.yield($0) }
            kill(getpid(), SIGHUP)
            #expect(await numbers.next() == SIGHUP)
            #expect(interruption.code == .hungUp)
        }
    }
}
