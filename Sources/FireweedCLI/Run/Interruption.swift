// Ctrl-C while something is being printed.

import Dispatch
import Glibc
import Synchronization

/// Ends what goes on when the user interrupts, between two writes; a second interruption ends the process at once.
final class Interruption {
    private let source: any DispatchSourceSignal
    private let happened: Flag

    /// True once the user has interrupted.
    var hasHappened: Bool { happened.value.load(ordering: .acquiring) }

    private final class Flag: Sendable {
        let value = Atomic<Bool>(false)
    }

    /// Takes over the signal; `action` runs on a queue of its own, once.
    init(action: @escaping @Sendable () -> Void) {
        let flag = Flag()
        happened = flag
        signal(SIGINT, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        source.setEventHandler {
            guard !flag.value.exchange(true, ordering: .acquiringAndReleasing) else { return }
            signal(SIGINT) { _ in _exit(ExitCode.interrupted.rawValue) }
            action()
        }
        source.resume()
        self.source = source
    }

    deinit { source.cancel() }
}
