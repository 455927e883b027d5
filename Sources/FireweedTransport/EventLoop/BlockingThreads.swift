// Threads for work that blocks.

import CLinux
import Glibc
import Synchronization

/// Runs work that may block, in order, on at most `limit` threads.
///
/// The queues of Dispatch are no place for such work: the global ones share their few threads with Swift's concurrency,
/// and work that blocks there stops every `Task` of the process. A thread is started when there is work and the limit
/// allows it, and ends when no work is left. All signals are blocked on it.
final class BlockingThreads: Sendable {
    /// No thread can be started, and none is running.
    struct Exhausted: Error, CustomStringConvertible {
        let description: String
    }

    /// Gets an error instead of a thread when there is none to be had.
    typealias Work = @Sendable (Exhausted?) -> Void

    private struct State {
        var queue = ElementQueue<Work>()
        var threadCount = 0
    }

    private let name: String
    private let limit: Int
    private let state = Mutex(State())

    /// Makes a set of threads; `name` (up to 15 bytes) is what thread lists show.
    init(name: String, limit: Int) {
        self.name = name
        self.limit = limit
    }

    /// Calls `work` once: on one of the threads, as soon as one is free.
    ///
    /// When the system refuses the only thread there would be, `work` is called with an error, before this method
    /// returns or from another call of it.
    func run(_ work: @escaping Work) {
        let startsThread = state.withLock { state in
            state.queue.append(work)
            guard state.threadCount < limit else { return false }
            state.threadCount += 1
            return true
        }
        guard startsThread else { return }
        let status = startThread()
        guard status != 0 else { return }
        let error = Exhausted(description: "no thread can be started: \(String(cString: strerror(status)))")
        for lost in takeLostWork() { lost(error) }
    }

    /// A thread was not started: takes the work that no other thread will come to.
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
        while let next = next() { next(nil) }
    }

    /// The next piece of work; without one, the thread that asks no longer counts.
    private func next() -> Work? {
        state.withLock { state in
            let next = state.queue.popFirst()
            if next == nil { state.threadCount -= 1 }
            return next
        }
    }
}

/// Takes over the reference that it is passed.
private func runThread(_ owner: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    owner.map { Unmanaged<BlockingThreads>.fromOpaque($0).takeRetainedValue().work() }
    return nil
}
