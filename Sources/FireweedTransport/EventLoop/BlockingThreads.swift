// Threads for work that blocks.

import CLinux
import Dispatch
import Glibc
import Synchronization

/// Runs work that may block, in order, on at most `limit` threads.
///
/// The queues of Dispatch are no place for such work: the global ones share their few threads with Swift's concurrency,
/// and work that blocks there stops every `Task` of the process. A thread is started when there is work and the limit
/// allows it, and ends when no work came for the time `lingering`. All signals are blocked on it.
///
/// Work may block for ever; its thread is then lost. With `patience`, waiting work gets an error when all threads have
/// been at the same work for that long.
final class BlockingThreads: Sendable {
    /// No thread can be started and none is running, or all threads are lost.
    struct Exhausted: Error, CustomStringConvertible {
        let description: String
    }

    /// Called with `nil` on one of the threads, or with an error when no thread is available.
    typealias Work = @Sendable (Exhausted?) -> Void

    private struct State {
        var queue = ElementQueue<Work>()
        var threadCount = 0
        /// The number of threads that wait for work and have not been woken.
        var idleCount = 0
        /// When a thread has last begun a piece of work.
        var lastBeginning = ContinuousClock.now
        /// Whether a timer runs for the waiting work.
        var isWatched = false
    }

    /// The way to a thread for a new piece of work.
    private enum Way {
        case line
        case idleThread
        case newThread
        /// All threads are lost: the waiting work, which gets an error.
        case none([Work])
    }

    private let name: String
    private let limit: Int
    private let patience: Duration?
    private let lingering: Duration
    private let niceness: Int32
    private let state = Mutex(State())
    // Wakes idle threads. This is a semaphore of Dispatch, since `Synchronization` has no type on which a thread can
    // wait with a time limit.
    private let wakeUps = DispatchSemaphore(value: 0)

    /// Makes a set of threads.
    ///
    /// - Parameters:
    ///   - name: the name in thread lists, up to 15 bytes.
    ///   - limit: the largest number of threads.
    ///   - patience: how long all threads may be at the same work before waiting work gets an error; `nil`, the
    ///     default, lets work wait for ever.
    ///   - lingering: how long a thread without work waits for more before it ends; not at all by default.
    ///   - niceness: what is added to the niceness of the threads (setpriority(2)), for work that computes: other
    ///     threads then have the cores first; 0 by default.
    init(
        name: String, limit: Int, patience: Duration? = nil, lingering: Duration = .zero, niceness: Int32 = 0
    ) {
        self.name = name
        self.limit = limit
        self.patience = patience
        self.lingering = lingering
        self.niceness = niceness
    }

    /// Calls `work` once: on one of the threads, as soon as one is free.
    ///
    /// When no thread runs and the system refuses to start one, or all threads are lost, `work` is called with an
    /// error, before this method returns or from another call of it.
    func run(_ work: @escaping Work) {
        switch state.withLock({ way(for: work, &$0) }) {
        case .line: watch()
        case .idleThread: wakeUps.signal()
        case .newThread:
            let status = startThread()
            guard status != 0 else { return }
            let error = Exhausted(description: "no thread can be started: \(String(cString: strerror(status)))")
            for lost in takeLostWork() { lost(error) }
        case .none(let waiting): refuse(waiting)
        }
    }

    private func refuse(_ waiting: [Work]) {
        let error = Exhausted(description: "\(limit) threads wait for calls that do not return")
        for lost in waiting { lost(error) }
    }

    /// Starts a timer, so that waiting work gets its error also when no more work comes.
    private func watch() {
        guard let patience, state.withLock({ claimWatch(&$0) }) else { return }
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: patience.nanoseconds))) {
            [self] in
            let waiting = state.withLock { state -> [Work] in
                state.isWatched = false
                return areLost(state) ? state.queue.takeAll() : []
            }
            refuse(waiting)
            watch()
        }
    }

    /// Whether there is waiting work without a timer.
    private func claimWatch(_ state: inout State) -> Bool {
        guard !state.queue.isEmpty, !state.isWatched else { return false }
        state.isWatched = true
        return true
    }

    /// Whether no thread has begun a piece of work for too long.
    private func areLost(_ state: State) -> Bool {
        guard let patience else { return false }
        return state.threadCount == limit && state.idleCount == 0 && .now - state.lastBeginning > patience
    }

    private func way(for work: @escaping Work, _ state: inout State) -> Way {
        state.queue.append(work)
        if state.idleCount > 0 {
            state.idleCount -= 1
            return .idleThread
        }
        if state.threadCount < limit {
            state.threadCount += 1
            return .newThread
        }
        return areLost(state) ? .none(state.queue.takeAll()) : .line
    }

    /// Called when a thread could not be started: takes the waiting work, unless another thread runs that will do it.
    private func takeLostWork() -> [Work] {
        state.withLock { state in
            state.threadCount -= 1
            return state.threadCount == 0 ? state.queue.takeAll() : []
        }
    }

    private func startThread() -> Int32 {
        let owner = Unmanaged.passRetained(self)
        var handle = pthread_t()
        let status = pthread_create(&handle, nil, runThread, owner.toOpaque())
        if status == 0 { pthread_detach(handle) } else { owner.release() }
        return status
    }

    fileprivate func work() {
        pthread_setname_np(pthread_self(), name)
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, nil)
        if niceness > 0 {
            // On Linux, setpriority(2) for process 0 changes only the calling thread.
            let process = __priority_which_t(PRIO_PROCESS.rawValue)
            setpriority(process, 0, min(19, getpriority(process, 0) + niceness))
        }
        repeat {
            while let next = next() { next(nil) }
        } while awaitsMore()
    }

    /// The next piece of work; without one, the calling thread counts as idle.
    private func next() -> Work? {
        state.withLock { state in
            let next = state.queue.popFirst()
            if next == nil { state.idleCount += 1 } else if patience != nil { state.lastBeginning = .now }
            return next
        }
    }

    /// Waits for work; false when the thread ends and no longer counts.
    private func awaitsMore() -> Bool {
        if lingering > .zero, wakeUps.wait(timeout: .now() + .nanoseconds(Int(lingering.nanoseconds))) == .success {
            return true
        }
        let ends = state.withLock { state in
            guard state.idleCount > 0 else { return false }
            state.idleCount -= 1
            state.threadCount -= 1
            return true
        }
        // Work arrived just when the wait timed out: this thread takes the work, and consumes its signal.
        if !ends { wakeUps.wait() }
        return !ends
    }
}

/// Takes over the reference that it is passed.
private func runThread(_ owner: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    owner.map { Unmanaged<BlockingThreads>.fromOpaque($0).takeRetainedValue().work() }
    return nil
}
