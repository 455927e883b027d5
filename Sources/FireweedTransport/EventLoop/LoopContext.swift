// What only the loop's own thread may touch: its sockets, its timers and its clock.

import CLinux
import Glibc

/// A moment of `CLOCK_MONOTONIC`, in nanoseconds.
typealias LoopInstant = UInt64

/// Wants to be called when a moment has come; called on the loop's thread.
protocol LoopTimer: AnyObject {
    /// The next moment to be called at, or `nil` for none. Read after every call into the timer.
    var deadline: LoopInstant? { get }
    func deadlineReached()
}

/// Has something to report when the loop has done what there was to do; called on the loop's thread.
protocol TurnEnding: AnyObject {
    func turnEnds()
}

/// Has more to do than one turn of the loop may take, or something to do after the sockets; called on the loop's
/// thread.
protocol LoopContinuation: AnyObject {
    func continueWork()
}

/// The state of a loop, made on its thread and handed to the work that runs there.
///
/// It is not `Sendable` and there is no way to it from outside, so the compiler keeps it on the loop's thread.
final class LoopContext {
    let loop: EventLoop
    /// The monotonic clock when the present turn of the loop began, or when the last exchange did: good for time-outs,
    /// and costs no call.
    private(set) var now: LoopInstant
    var sockets: SocketRegistry
    private var timers: [any LoopTimer] = []
    private var endings: [any TurnEnding] = []
    private var continuations: [any LoopContinuation] = []
    private var dueContinuations: [any LoopContinuation] = []
    /// Where the connections of the loop read to: one buffer for all of them, of which only what was used takes memory.
    ///
    /// What is in it is good until the loop's next call of a connection. Loops live as long as the process.
    lazy var readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 512 * 1024, alignment: 4096)
    /// Where content is decoded to, good as long as the call that hands it on.
    lazy var decodingBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 4096)

    /// Buffers for TLS records that no call uses, as a rule one for all connections of the loop.
    private var recordBuffers: [UnsafeMutableRawBufferPointer] = []

    /// Most reports that wait for the end of a turn.
    private static let endingLimit = 16

    init(loop: EventLoop, poller: Poller) {
        self.loop = loop
        now = Self.monotonicNow()
        sockets = SocketRegistry(poller: poller)
    }

    func add(_ timer: any LoopTimer) {
        timers.append(timer)
    }

    func remove(_ timer: any LoopTimer) {
        timers.removeAll { $0 === timer }
    }

    /// Calls `ending` at the end of this turn, or sooner when many wait.
    ///
    /// A report mostly wakes a thread: one after the other they wake it once, between other work each one does.
    func atEndOfTurn(_ ending: any TurnEnding) {
        endings.append(ending)
        if endings.count >= Self.endingLimit { endTurn() }
    }

    /// Makes the calls that wait; more may come by that.
    func endTurn() {
        while !endings.isEmpty {
            var due: [any TurnEnding] = []
            swap(&due, &endings)
            for ending in due { ending.turnEnds() }
        }
    }

    /// Calls `continuation` after the sockets of this turn; from inside such a call, in the next turn.
    func continueAfterSockets(_ continuation: any LoopContinuation) {
        continuations.append(continuation)
    }

    /// Makes the calls that wait.
    func runContinuations() {
        guard !continuations.isEmpty else { return }
        swap(&dueContinuations, &continuations)
        for continuation in dueContinuations { continuation.continueWork() }
        dueContinuations.removeAll(keepingCapacity: true)
    }

    /// Gives a buffer for TLS records, for the time of a call.
    ///
    /// TLS inside TLS takes one for each.
    func takeRecordBuffer() -> UnsafeMutableRawBufferPointer {
        recordBuffers.popLast() ?? .allocate(byteCount: 256 * 1024, alignment: 4096)
    }

    /// Takes a buffer back.
    func giveBack(recordBuffer: UnsafeMutableRawBufferPointer) {
        recordBuffers.append(recordBuffer)
    }

    func updateNow() {
        now = Self.monotonicNow()
    }

    /// Calls every timer whose moment has come.
    ///
    /// A timer may add or remove timers.
    func runDueTimers() {
        for timer in timers {
            if let deadline = timer.deadline, deadline <= now { timer.deadlineReached() }
        }
    }

    /// How long the loop may sleep, in milliseconds as epoll_wait(2) counts them: -1 for no limit.
    func sleepMilliseconds() -> Int32 {
        guard continuations.isEmpty else { return 0 }
        var earliest: LoopInstant?
        for timer in timers {
            guard let deadline = timer.deadline else { continue }
            earliest = min(earliest ?? deadline, deadline)
        }
        guard let earliest else { return -1 }
        guard earliest > now else { return 0 }
        // Rounded up: waking a little late costs nothing, waking early costs a turn.
        let milliseconds = (earliest - now + 999_999) / 1_000_000
        return Int32(min(milliseconds, 3_600_000))
    }

    static func monotonicNow() -> LoopInstant {
        fw_clock_nanoseconds(CLOCK_MONOTONIC)
    }
}
