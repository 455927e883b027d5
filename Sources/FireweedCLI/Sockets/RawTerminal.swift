// A terminal that gives every key at once.

import Glibc

/// Takes the terminal out of its line mode, and puts it back when it goes, or when a signal ends the process.
final class RawTerminal {
    private var saved: termios
    private let interruption: Interruption

    /// `nil` when standard input is no terminal.
    init?() {
        var present = termios()
        guard Terminal.isInput, tcgetattr(STDIN_FILENO, &present) == 0 else { return nil }
        saved = present
        interruption = Interruption { [present] number in
            var saved = present
            tcsetattr(STDIN_FILENO, TCSANOW, &saved)
            _exit(128 + number)
        }
        var raw = present
        raw.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
        raw.c_iflag &= ~tcflag_t(IXON | ICRNL)
        guard tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0 else { return nil }
    }

    deinit { restore() }

    /// Puts the terminal back.
    func restore() {
        tcsetattr(STDIN_FILENO, TCSADRAIN, &saved)
    }
}
