// The thread that calls `URLProtocol` classes.

import Foundation
import Synchronization

/// One thread with a run loop, on which every `URLProtocol` of the process is asked, started and stopped.
///
/// Apple's URLSession has such a thread too, and mocks depend on it: they change static variables without a lock, and
/// start timers on the current run loop.
final class ProtocolThread: Sendable {
    static let shared = ProtocolThread()

    private struct State {
        var work: [@Sendable () -> Void] = []
        /// `nil` until the thread runs.
        var loop: RunLoopReference?
    }

    private let state = Mutex(State())

    private init() {
        let thread = Thread { [self] in run() }
        thread.name = "fireweed.urlprotocols"
        thread.start()
    }

    /// Calls `body` on the thread, in the order of the calls.
    func perform(_ body: @escaping @Sendable () -> Void) {
        let sleeping = state.withLock { state in
            state.work.append(body)
            return state.work.count == 1 ? state.loop : nil
        }
        if let sleeping { wake(sleeping) }
    }

    private func run() {
        // A run loop without sources and timers returns immediately; this timer keeps the run loop waiting.
        RunLoop.current.add(Timer(timeInterval: 1e9, repeats: true) { _ in }, forMode: .default)
        let loop = RunLoopReference(RunLoop.current)
        let hasWork = state.withLock { state in
            state.loop = loop
            return !state.work.isEmpty
        }
        if hasWork { performWork() }
        while true { _ = RunLoop.current.run(mode: .default, before: .distantFuture) }
    }

    /// Makes the run loop perform the work: on Linux a block does not wake a sleeping run loop, and a timer does.
    private func wake(_ loop: RunLoopReference) {
        loop.value.add(Timer(timeInterval: 0, repeats: false) { [self] _ in performWork() }, forMode: .default)
    }

    private func performWork() {
        let work = state.withLock { state in
            defer { state.work = [] }
            return state.work
        }
        for body in work { body() }
    }
}

/// Carries the thread's run loop to other threads, which add timers.
private struct RunLoopReference: @unchecked Sendable {
    // SAFETY: other threads call only `add(_:forMode:)`, which takes CFRunLoop's lock.
    let value: RunLoop

    init(_ value: RunLoop) {
        self.value = value
    }
}
