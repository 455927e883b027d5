// What is at the other end of our streams.

import Glibc

/// Facts about standard streams.
enum Terminal {
    static var isOutput: Bool { isatty(STDOUT_FILENO) == 1 }
    static var isError: Bool { isatty(STDERR_FILENO) == 1 }
    static var isInput: Bool { isatty(STDIN_FILENO) == 1 }

    /// Columns of the terminal behind standard error; 80 when that is not known.
    static var width: Int {
        var size = winsize()
        return ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
    }

    /// Writes to standard output; ends the process quietly when nobody reads any more.
    static func write(_ bytes: [UInt8]) {
        write(bytes, to: STDOUT_FILENO)
    }

    static func write(_ text: String) {
        write(Array(text.utf8))
    }

    /// Writes to standard error.
    static func tell(_ text: String) {
        write(Array(text.utf8), to: STDERR_FILENO)
    }

    /// Asks for a password without showing it; `nil` where nobody can be asked.
    static func askForPassword(of user: String) -> String? {
        guard isInput, isError, let typed = getpass("Password for \(user): ") else { return nil }
        return String(cString: typed)
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var offset = 0
        while offset < bytes.count {
            let count = bytes[offset...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { offset += count } else if errno != EINTR { exit(errno == EPIPE ? 0 : 1) }
        }
    }
}
