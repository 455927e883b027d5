// A terminal that gives every key at once.

import Glibc

/// Takes the terminal out of its line mode, and puts it back when it goes, or when a signal ends the process.
final class RawTerminal {
    private var saved: termios
    /// Where keys are read from.
    let descriptor: Int32
    private let interruption: Interruption

    /// Standard input's terminal; `nil` when it has none.
    convenience init?() { self.init(of: STDIN_FILENO) }

    /// The terminal that a descriptor is; `nil` when it is another file.
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

    /// Puts the terminal back.
    func restore() {
        tcsetattr(descriptor, TCSADRAIN, &saved)
    }
}
