// What only the loop's own thread may touch: its sockets, its timers and its clock.

import Glibc

/// A moment of `CLOCK_MONOTONIC`, in nanoseconds.
typealias LoopInstant = UInt64

/// Wants to be called when a moment has come; called on the loop's thread.
protocol LoopTimer: AnyObject {
    /// The next moment to be called at, or `nil` for none. Read after every call into the timer.
    var deadline: LoopInstant? { get }
    func deadlineReached()
}

/// The state of a loop, made on its thread and handed to the work that runs there.
///
/// It is not `Sendable` and there is no way to it from outside, so the compiler keeps it on the loop's thread.
final class LoopContext {
    let loop: EventLoop
    /// The monotonic clock when the present turn of the loop began: good for time-outs, and costs no call.
    private(set) var now: LoopInstant
    var sockets: SocketWatches
    private var timers: [any LoopTimer] = []

    init(loop: EventLoop, poller: Poller) {
        self.loop = loop
        now = Self.monotonicNow()
        sockets = SocketWatches(poller: poller)
    }

    func add(_ timer: any LoopTimer) {
        timers.append(timer)
    }

    func remove(_ timer: any LoopTimer) {
        timers.removeAll { $0 === timer }
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
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
