// A terminal that delivers each key immediately.

import Glibc

/// Turns off the terminal's line mode and echo, and restores them in `deinit`, or when a signal ends the process.
final class RawTerminal {
    private var saved: termios
    /// Where keys are read from.
    let descriptor: Int32
    private let interruption: Interruption

    /// The terminal behind standard input; `nil` if that is another file.
    convenience init?() { self.init(of: STDIN_FILENO) }

    /// The terminal behind a descriptor; `nil` if that is another file.
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
