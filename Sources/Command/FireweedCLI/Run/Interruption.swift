// Signals that end the command after a clean-up.

import CLinux
import Glibc
import Synchronization

/// Runs an action on the first SIGINT (Ctrl-C), SIGTERM or SIGHUP; a second signal ends the process immediately.
///
/// The same signal within 200 ms counts as the first one: timeout(1) signals the process, and then its group.
/// Without any `Interruption`, the first signal ends the process. The handlers are installed when `init` returns: no
/// later signal is lost.
final class Interruption: Sendable {
    private let listener: InterruptionSignals.Listener

    /// The exit code for the first signal; `nil` before a signal.
    var code: ExitCode? { ExitCode(rawValue: 128 + listener.signal.load(ordering: .acquiring)) }

    /// Handles the signals from now on; `action` runs on the main thread, once.
    convenience init(action: @escaping @Sendable () -> Void) {
        self.init { _ in action() }
    }

    /// Handles the signals from now on; `action` runs with the number of the first signal on the main thread, once.
    init(_ action: @escaping @Sendable (_ signal: Int32) -> Void) {
        listener = InterruptionSignals.Listener(action: action)
        InterruptionSignals.shared.add(listener)
    }

    deinit { end() }

    /// Removes the action; the next signal ends the process, unless there is another `Interruption`.
    ///
    /// Called before output is written, since writing may block while the reader of a pipe does not read.
    func end() { InterruptionSignals.shared.remove(listener) }

    /// Unblocks the signals, so that they end the process until there is an `Interruption`; called first on the main
    /// thread.
    ///
    /// A child of a program that uses Foundation's `Process` often begins with all signals blocked.
    static func prepare() {
        var numbers = sigset_t()
        sigemptyset(&numbers)
        for number in InterruptionSignals.numbers {
            sigaddset(&numbers, number)
        }
        pthread_sigmask(SIG_UNBLOCK, &numbers, nil)
        // A signal that is ignored from the start stays ignored, as in a shell script's `command &`.
        if !InterruptionSignals.isIgnored(SIGINT) { signal(SIGINT) { _ in Interruption.die(of: SIGINT) } }
    }

    /// Ends the process; with `interrupted` by SIGINT, since a shell ends its loop only if a command died of SIGINT.
    static func end(with code: ExitCode) -> Never {
        if code == .interrupted { die(of: SIGINT) }
        exit(code.rawValue)
    }

    /// Ends the process by the default action of a signal; may be called in a handler of that signal.
    static func die(of number: Int32) -> Never {
        signal(number, SIG_DFL)
        var numbers = sigset_t()
        sigemptyset(&numbers)
        sigaddset(&numbers, number)
        pthread_sigmask(SIG_UNBLOCK, &numbers, nil)
        kill(getpid(), number)
        _exit(128 + number)
    }

    /// Waits for signals until the process ends; called on the main thread.
    static func wait() -> Never { InterruptionSignals.wait() }
}

/// Handles SIGINT, SIGTERM and SIGHUP for the whole process.
///
/// Each listener is notified of the first signal.
private final class InterruptionSignals: Sendable {
    private let listeners = Mutex<[Listener]>([])

    /// The action of one `Interruption`, and the signal that it was notified of.
    final class Listener: Sendable {
        let action: @Sendable (Int32) -> Void
        /// The first signal's number; 0 before a signal, when `code` is `nil`.
        let signal = Atomic<Int32>(0)

        init(action: @escaping @Sendable (Int32) -> Void) { self.action = action }
    }

    static let numbers = [SIGINT, SIGTERM, SIGHUP]
    static let shared = InterruptionSignals()

    /// The number of the first signal; before it arrives, `awaited`; without an `Interruption`, `unheard`.
    ///
    /// An atomic, since a signal handler may use only atomics and a few system calls (signal-safety(7)).
    private static let state = Atomic<Int32>(unheard)
    /// The time of the first signal, in nanoseconds of the monotonic clock.
    private static let moment = Atomic<UInt64>(0)
    /// There is no interruption: a signal ends the process.
    private static let unheard: Int32 = 0
    /// The next signal is the first one.
    private static let awaited: Int32 = -1
    /// An eventfd that the handler writes to and the main thread reads; it keeps signals that arrive before the read.
    private static let event = eventfd(0, Int32(EFD_CLOEXEC))

    static func wait() -> Never {
        while true {
            var count: UInt64 = 0
            if event < 0 { pause() }  // no descriptor was free: every signal ends the process
            if read(event, &count, MemoryLayout.size(ofValue: count)) > 0 { shared.tell() }
        }
    }

    private init() {
        _ = Self.event  // made lazily, which a signal handler must not do
        Self.state.store(Self.unheard, ordering: .releasing)  // made lazily too
        Self.moment.store(0, ordering: .releasing)
        // A signal that is ignored from the start, as by nohup(1), stays ignored.
        for number in Self.numbers where !Self.isIgnored(number) {
            signal(number) { number in
                let (isFirst, first) = InterruptionSignals.state.compareExchange(
                    expected: InterruptionSignals.awaited, desired: number, ordering: .acquiringAndReleasing)
                let reason = errno
                defer { errno = reason }
                let now = fw_clock_nanoseconds(CLOCK_MONOTONIC)
                if isFirst {
                    InterruptionSignals.moment.store(now, ordering: .releasing)
                } else if first == number, now &- InterruptionSignals.moment.load(ordering: .acquiring) < 200_000_000 {
                    return
                }
                guard isFirst, InterruptionSignals.event >= 0 else { Interruption.die(of: number) }
                var count: UInt64 = 1
                _ = write(InterruptionSignals.event, &count, MemoryLayout.size(ofValue: count))
            }
        }
    }

    func add(_ listener: Listener) {
        listeners.withLock { listeners in
            if listeners.isEmpty { Self.state.store(Self.awaited, ordering: .releasing) }
            listeners.append(listener)
        }
    }

    func remove(_ listener: Listener) {
        listeners.withLock { listeners in
            listeners.removeAll { $0 === listener }
            guard listeners.isEmpty else { return }
            let number = Self.state.exchange(Self.unheard, ordering: .acquiringAndReleasing)
            // A signal that came too late for its listener ends the process instead of being lost.
            if number > 0, listener.signal.load(ordering: .acquiring) == 0 { Interruption.die(of: number) }
        }
    }

    /// Notifies the listeners of the signal, the newest first.
    private func tell() {
        let told = listeners.withLock { listeners in
            let number = Self.state.load(ordering: .acquiring)
            guard number > 0 else { return [Listener]() }
            return listeners.filter {
                $0.signal.compareExchange(expected: 0, desired: number, ordering: .acquiringAndReleasing).exchanged
            }
        }
        for listener in told.reversed() { listener.action(listener.signal.load(ordering: .acquiring)) }
    }

    fileprivate static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        let address: (__sighandler_t?) -> Int = { unsafeBitCast($0, to: Int.self) }
        return address(action.__sigaction_handler.sa_handler) == address(SIG_IGN)
    }
}
