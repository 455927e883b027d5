// A terminal that delivers each key immediately.

import Glibc

/// Turns off the terminal's line mode and echo, and restores them in `deinit`, or when a signal ends the process.
final class RawTerminal {
    private var saved: termios
    /// The terminal's descriptor, from which keys are read.
    let descriptor: Int32
    private let interruption: Interruption

    /// Changes the terminal of standard input; `nil` if standard input is not a terminal.
    convenience init?() { self.init(of: STDIN_FILENO) }

    /// Changes the terminal of a descriptor; `nil` if the descriptor is not a terminal.
    init?(of descriptor: Int32) {
        var present = termios()
        guard isatty(descriptor) == 1, tcgetattr(descriptor, &present) == 0 else { return nil }
        self.descriptor = descriptor
        saved = present
        interruption = Interruption { [present] number in
            var saved = present
            tcsetattr(descriptor, TCSANOW, &saved)
            Interruption.die(of: number)
        }
        var raw = present
        raw.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
        raw.c_iflag &= ~tcflag_t(IXON | ICRNL)
        guard tcsetattr(descriptor, TCSADRAIN, &raw) == 0 else { return nil }
    }

    deinit { restore() }

    /// Restores the terminal's settings.
    func restore() {
        tcsetattr(descriptor, TCSADRAIN, &saved)
    }
}
