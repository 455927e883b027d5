// Signals that end the command, while something has to be cleaned up.

import CLinux
import Glibc
import Synchronization

/// Ends what is under way when a signal asks for the end: Ctrl-C, SIGTERM or SIGHUP; a second signal ends the process
/// at once, and so does the first one while there is no interruption.
///
/// The signals are taken over when `init` returns: none that comes later is lost.
final class Interruption: Sendable {
    private let listener: InterruptionSignals.Listener

    /// The exit code for the signal that came; `nil` when none came.
    var code: ExitCode? { ExitCode(rawValue: 128 + listener.signal.load(ordering: .acquiring)) }

    /// Takes over the signals; `action` runs on the main thread, once.
    convenience init(action: @escaping @Sendable () -> Void) {
        self.init { _ in action() }
    }

    /// Takes over the signals; `action` runs with the number of the first signal on the main thread, once.
    init(_ action: @escaping @Sendable (_ signal: Int32) -> Void) {
        listener = InterruptionSignals.Listener(action: action)
        InterruptionSignals.shared.add(listener)
    }

    deinit { end() }

    /// Lets the next signal end the process at once: a file that is written at the end may wait for its reader.
    func end() { InterruptionSignals.shared.remove(listener) }

    /// Lets signals end the process at once until there is an interruption; for the start of the main thread.
    ///
    /// A child of a program that uses Foundation's `Process` often begins with all signals blocked.
    static func prepare() {
        var numbers = sigset_t()
        sigemptyset(&numbers)
        for number in InterruptionSignals.numbers {
            sigaddset(&numbers, number)
        }
        pthread_sigmask(SIG_UNBLOCK, &numbers, nil)
        signal(SIGINT) { _ in Interruption.die(of: SIGINT) }
    }

    /// Ends the process: by the signal where that is the code of one, since a shell ends its loop for that alone.
    static func end(with code: ExitCode) -> Never {
        if code == .interrupted { die(of: SIGINT) }
        exit(code.rawValue)
    }

    /// Ends the process by a signal, as where it has no handler; may be called in a handler of that signal.
    static func die(of number: Int32) -> Never {
        signal(number, SIG_DFL)
        var numbers = sigset_t()
        sigemptyset(&numbers)
        sigaddset(&numbers, number)
        pthread_sigmask(SIG_UNBLOCK, &numbers, nil)
        kill(getpid(), number)
        _exit(128 + number)
    }

    /// Waits for signals until the process ends; for the main thread.
    static func wait() -> Never { InterruptionSignals.wait() }
}

/// Handles SIGINT, SIGTERM and SIGHUP for the whole process.
///
/// Each listener is told of the first signal.
private final class InterruptionSignals: Sendable {
    private let listeners = Mutex<[Listener]>([])

    /// One interruption, and the signal that it was told of.
    final class Listener: Sendable {
        let action: @Sendable (Int32) -> Void
        /// The first signal's number; 0 before one came, which stands for no exit code.
        let signal = Atomic<Int32>(0)

        init(action: @escaping @Sendable (Int32) -> Void) { self.action = action }
    }

    static let numbers = [SIGINT, SIGTERM, SIGHUP]
    static let shared = InterruptionSignals()

    /// What the next signal does: the number of the first one once it came, or one of the two values below.
    ///
    /// A signal handler may use nothing but atomics and a few system calls (signal-safety(7)).
    private static let state = Atomic<Int32>(unheard)
    /// There is no interruption: a signal ends the process.
    private static let unheard: Int32 = 0
    /// The next signal is the first one.
    private static let awaited: Int32 = -1
    /// An event that the handler counts, and that wakes the main thread; it keeps what comes before that waits for it.
    private static let event = eventfd(0, Int32(EFD_CLOEXEC))

    static func wait() -> Never {
        while true {
            var count: UInt64 = 0
            if event < 0 { pause() }  // out of descriptors from the start: every signal is the last one
            if read(event, &count, MemoryLayout.size(ofValue: count)) > 0 { shared.tell() }
        }
    }

    private init() {
        _ = Self.event  // no handler may be the first that uses it
        Self.state.store(Self.unheard, ordering: .releasing)  // no handler may be the first that uses it
        // A signal that is ignored from the start stays ignored: nohup(1) does that.
        for number in Self.numbers where !Self.isIgnored(number) {
            signal(number) { number in
                let (isFirst, _) = InterruptionSignals.state.compareExchange(
                    expected: InterruptionSignals.awaited, desired: number, ordering: .acquiringAndReleasing)
                guard isFirst, InterruptionSignals.event >= 0 else { Interruption.die(of: number) }
                let reason = errno
                defer { errno = reason }
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
            // A signal that came too late for its listener is not lost.
            if number > 0, listener.signal.load(ordering: .acquiring) == 0 { Interruption.die(of: number) }
        }
    }

    /// Tells the listeners, the newest first, of the signal that came.
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

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        let address: (__sighandler_t?) -> Int = { unsafeBitCast($0, to: Int.self) }
        return address(action.__sigaction_handler.sa_handler) == address(SIG_IGN)
    }
}
