// The descriptors of the process: the limit for idle connections, and the recovery when no descriptor is left.

import Dispatch
import Glibc
import Synchronization

/// An owner of idle connections; called on the loop's thread.
protocol IdleConnectionHolder: AnyObject {
    /// Closes connections until `count` are left, the longest idle ones first.
    func closeIdle(keeping count: Int)
}

/// Limits the descriptors of idle connections, and frees descriptors when none is left, for all pools of the process.
///
/// Idle connections keep at most a quarter of the descriptors that the process may have (RLIMIT_NOFILE). When a call
/// finds no descriptor, all pools close their idle connections, and the call is repeated once. The last descriptors are
/// not for connections: files of authorities are read while connections wait, and libdispatch ends a process in which
/// it cannot open a file.
package enum Descriptors {
    private struct State {
        var loops: [EventLoop] = []
        /// `ForkCount.current` of the process that made the loops: a child of fork(2) makes other loops.
        var forkCount = 0
    }

    private static let state = Mutex(State())
    private static let idle = Atomic(0)
    private static let idleLimit = Atomic(0)
    private static let holderCount = Atomic(0)
    private static let isTrimming = Atomic(false)
    /// The longest wait for the loops, in seconds: a user's task that runs on a loop may delay the loop.
    private static let longestWait = 1.0

    // MARK: The budget

    /// The number of descriptors that the process may have now.
    private static var processLimit: Int {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(clamping: limit.rlim_cur)
    }

    /// Adds a pool that runs on a loop.
    static func addHolder(on loop: EventLoop) {
        idleLimit.store(processLimit / 4, ordering: .relaxed)
        state.withLock { state in
            if state.forkCount != ForkCount.current {
                state = State(forkCount: ForkCount.current)
                idle.store(0, ordering: .relaxed)
                holderCount.store(0, ordering: .relaxed)
                isTrimming.store(false, ordering: .relaxed)
            }
            if !state.loops.contains(where: { $0 === loop }) { state.loops.append(loop) }
        }
        holderCount.wrappingAdd(1, ordering: .relaxed)
    }

    /// Removes a pool that was shut down.
    static func removeHolder() {
        holderCount.wrappingSubtract(1, ordering: .relaxed)
    }

    /// Adds a change to the number of idle connections in the process.
    static func idleCountChanged(by change: Int) {
        idle.wrappingAdd(change, ordering: .relaxed)
    }

    /// The number of idle connections that a pool with `count` of them may keep: all of them while the process is
    /// within its limit, otherwise an equal share.
    static func idleLimit(for count: Int) -> Int {
        let limit = idleLimit.load(ordering: .relaxed)
        guard idle.load(ordering: .relaxed) > limit else { return count }
        let share = limit / max(1, holderCount.load(ordering: .relaxed))
        if count <= share { trim(to: share) }
        return min(count, share)
    }

    /// Makes the pools with more than their share close connections.
    private static func trim(to share: Int) {
        guard !isTrimming.exchange(true, ordering: .relaxed) else { return }
        onEveryLoop {
            $0.closeIdle(keeping: share)
        } then: {
            isTrimming.store(false, ordering: .relaxed)
        }
    }

    /// The number of exchanges of an origin whose files may be opened before they have a connection.
    ///
    /// With the usual 1,024 descriptors it is 32. HTTP/1.1 needs fewer, since an origin has at most 6 connections by
    /// default; for HTTP/2 the number is enough, since opening a file takes microseconds.
    static var aheadLimit: Int { min(32, max(1, idleLimit.load(ordering: .relaxed) / 8)) }

    // MARK: Exhaustion

    /// The number of descriptors that are not for connections: 16, or a sixteenth of a low limit.
    private static func reserve(of limit: Int) -> Int { max(2, min(16, limit / 16)) }

    /// Opens a socket with `call`, but none of the last descriptors.
    ///
    /// Returns -1 and sets `errno` as the call does, to EMFILE when only the last descriptors are left.
    static func makeSocket(_ call: () -> Int32) -> Int32 {
        let descriptor = call()
        guard descriptor >= 0 else { return descriptor }
        let limit = processLimit
        guard descriptor >= limit - reserve(of: limit) else { return descriptor }
        Glibc.close(descriptor)
        errno = EMFILE
        return -1
    }

    /// Makes every pool of the process close its idle connections, and then calls `done`, on any thread; if no
    /// connection is idle, returns false and does not call `done`.
    static func closeIdle(then done: @escaping @Sendable () -> Void) -> Bool {
        guard idle.load(ordering: .relaxed) > 0 else { return false }
        onEveryLoop {
            $0.closeIdle(keeping: 0)
        } then: {
            done()
        }
        return true
    }

    /// Makes a descriptor with `call`, such as open(2) or eventfd(2); repeats a call that finds no descriptor; may
    /// wait.
    ///
    /// Returns -1 and sets `errno` as the call does.
    package static func make(_ call: () -> Int32) -> Int32 {
        BlockingCall.check("open")
        let descriptor = call()
        guard descriptor < 0, isExhaustion(errno) else { return descriptor }
        let error = errno
        let group = DispatchGroup()
        group.enter()
        guard closeIdle(then: { group.leave() }) else {
            errno = error
            return descriptor
        }
        _ = group.wait(timeout: .now() + longestWait)
        return call()
    }

    /// Tries to have a descriptor free, by closing idle connections if there is none; may wait.
    ///
    /// Called before calls of the C library that do not report exhaustion.
    static func makeRoom() {
        let descriptor = make { open("/dev/null", O_RDONLY | O_CLOEXEC) }
        if descriptor >= 0 { close(descriptor) }
    }

    /// Whether an error says that the process or the system is out of descriptors.
    static func isExhaustion(_ error: Int32) -> Bool { error == EMFILE || error == ENFILE }

    private static func onEveryLoop(
        _ work: @escaping @Sendable (LoopContext) -> Void, then done: @escaping @Sendable () -> Void
    ) {
        let loops = state.withLock { $0.forkCount == ForkCount.current ? $0.loops : [] }
        guard !loops.isEmpty else { return done() }
        let rest = Countdown(loops.count, done)
        for loop in loops {
            loop.post { context in
                work(context)
                rest.step()
            }
        }
    }
}

/// Calls `done` at the last of `count` steps.
private final class Countdown: Sendable {
    private let count: Atomic<Int>
    private let done: @Sendable () -> Void

    init(_ count: Int, _ done: @escaping @Sendable () -> Void) {
        self.count = Atomic(count)
        self.done = done
    }

    func step() {
        if count.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 { done() }
    }
}
