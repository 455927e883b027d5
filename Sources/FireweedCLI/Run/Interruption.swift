// Signals that end the command, while something has to be cleaned up.

import Dispatch
import Glibc
import Synchronization

/// Ends what is under way when a signal asks for the end: Ctrl-C, SIGTERM or SIGHUP; a second signal ends the process
/// at once.
final class Interruption: @unchecked Sendable {
    // SAFETY: both properties are constants; libdispatch's sources may be used by every thread.
    private let sources: [any DispatchSourceSignal]
    private let happened: Flag

    /// The exit code for the signal that came; `nil` when none came.
    var code: ExitCode? { ExitCode(rawValue: 128 + happened.signal.load(ordering: .acquiring)) }

    private final class Flag: Sendable {
        /// The first signal's number; 0 before one came, which stands for no exit code.
        let signal = Atomic<Int32>(0)
    }

    /// Takes over the signals; `action` runs on a queue of its own, once.
    convenience init(action: @escaping @Sendable () -> Void) {
        self.init { _ in action() }
    }

    /// Takes over the signals; `action` runs with the number of the first signal on a queue of its own, once.
    init(_ action: @escaping @Sendable (_ signal: Int32) -> Void) {
        let flag = Flag()
        happened = flag
        // A signal that is ignored from the start stays ignored: nohup(1) does that.
        sources = [SIGINT, SIGTERM, SIGHUP].filter { !Self.isIgnored($0) }.map { number -> any DispatchSourceSignal in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                let (isFirst, _) = flag.signal.compareExchange(
                    expected: 0, desired: number, ordering: .acquiringAndReleasing)
                guard isFirst else { _exit(128 + number) }
                action(number)
            }
            source.resume()
            return source
        }
    }

    deinit {
        for source in sources {
            source.cancel()
            Self.endProcess(at: Int32(source.handle))
        }
    }

    /// From now on the signal ends the process at once.
    private static func endProcess(at number: Int32) {
        signal(number) { _exit(128 + $0) }
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        let address: (__sighandler_t?) -> Int = { unsafeBitCast($0, to: Int.self) }
        return address(action.__sigaction_handler.sa_handler) == address(SIG_IGN)
    }
}
