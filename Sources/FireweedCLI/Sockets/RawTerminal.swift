// A terminal that gives every key at once.

import Glibc

/// Takes the terminal out of its line mode, and puts it back when it goes.
final class RawTerminal {
    private var saved = termios()

    /// `nil` when standard input is no terminal.
    init?() {
        guard Terminal.isInput, tcgetattr(STDIN_FILENO, &saved) == 0 else { return nil }
        var raw = saved
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
