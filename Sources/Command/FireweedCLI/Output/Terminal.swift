// The standard streams, and the terminal behind them.

import Glibc
import Synchronization

/// Facts about the standard streams, and writing to them.
enum Terminal {
    static let isOutput = isatty(STDOUT_FILENO) == 1
    static let isError = isatty(STDERR_FILENO) == 1
    static var isInput: Bool { isatty(STDIN_FILENO) == 1 }

    /// Whether standard error is a terminal that can move its cursor: `TERM` is set, and not `dumb` or `unknown`.
    static var canDraw: Bool { isError && !isDumb }

    /// Whether colours are allowed: not on a terminal without colours, and not with `NO_COLOR` (no-color.org).
    static var allowsColours: Bool { !isDumb && (environment("NO_COLOR") ?? "").isEmpty }

    private static var isDumb: Bool { ["dumb", "unknown"].contains(environment("TERM") ?? "unknown") }

    private static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// Columns of the terminal behind standard error; 80 if unknown.
    static var width: Int {
        var size = winsize()
        return ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
    }

    /// Writes to standard output; if the reader of a pipe has gone, ends the process silently with `ExitCode.failure`.
    static func write(_ bytes: [UInt8]) {
        let ready = gathered.withLock { gathered -> [UInt8]? in
            guard gathered != nil else { return bytes }
            gathered?.append(contentsOf: bytes)
            guard let all = gathered, all.count >= gatheringLimit else { return nil }
            gathered = []
            return all
        }
        if let ready { write(ready, to: STDOUT_FILENO) }
        if let last = bytes.last { endsLine.store(last == 0x0A, ordering: .relaxed) }
    }

    /// Whether the last output to standard output ended with a line break.
    private static let endsLine = Atomic(true)

    /// Writes a line break if the last output did not end with one.
    static func beginLine() {
        if !endsLine.load(ordering: .relaxed) { write([0x0A]) }
    }

    /// Output that `gathering(_:)` has not written yet; `nil` while that method does not run.
    private static let gathered = Mutex<[UInt8]?>(nil)
    private static let gatheringLimit = 64 * 1024

    /// Collects what `body` writes to standard output, so that many short responses take few system calls.
    ///
    /// On a terminal nothing is collected, which keeps the order with output on standard error.
    static func gathering(_ body: () -> Void) {
        guard !isOutput else { return body() }
        gathered.withLock { $0 = [] }
        body()
        let rest = gathered.withLock { $0.take() } ?? []
        if !rest.isEmpty { write(rest, to: STDOUT_FILENO) }
    }

    static func write(_ text: TerminalText) {
        write(text.bytes)
    }

    /// Writes foreign text to standard output: a pipe or a file gets every character, a terminal gets no control
    /// characters.
    static func writeContent(_ text: String) { writeContent(Array(text.utf8)) }

    static func writeContent(_ bytes: [UInt8]) {
        write(isOutput ? TerminalText(foreign: String(decoding: bytes, as: UTF8.self)).bytes : bytes)
    }

    /// Writes to standard error.
    static func tell(_ text: TerminalText) {
        write(text.bytes, to: STDERR_FILENO)
    }

    /// Asks for a password without showing it; `nil` without a terminal, and after Ctrl-D.
    ///
    /// The terminal is asked even if standard input or standard error is a pipe. Ctrl-C ends the process, as everywhere
    /// else.
    static func askForPassword(of user: String) -> String? {
        let device = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        defer { if device >= 0 { close(device) } }
        guard let terminal = RawTerminal(of: device) ?? RawTerminal() else { return nil }
        let screen = device >= 0 ? device : STDERR_FILENO
        write(("Password for \(user): " as TerminalText).bytes, to: screen)
        var editor = LineEditor()
        var answer: LineEditor.Action?
        while answer == nil, let byte = readByte(terminal.descriptor) { answer = editor.handle([byte]).first }
        terminal.restore()
        write([0x0A], to: screen)
        switch answer {
        case .submit(let password): return password
        case .interrupt: Interruption.end(with: .interrupted)
        case .end, nil: break
        }
        return nil
    }

    /// Reads the next byte; `nil` at the end.
    private static func readByte(_ descriptor: Int32) -> UInt8? {
        var byte: UInt8 = 0
        while true {
            let count = read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            return count == 1 ? byte : nil
        }
    }

    /// Writes all bytes, or ends the process if standard output cannot be written; text for another descriptor, such as
    /// standard error on a full disk, is then lost.
    private static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var offset = 0
        while offset < bytes.count {
            let count = bytes[offset...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                offset += count
            } else if errno != EINTR {
                let reason = errno
                guard descriptor == STDOUT_FILENO else { return }
                if reason != EPIPE {
                    tell("fireweed: standard output cannot be written: \(String(cString: strerror(reason)))\n")
                }
                exit(ExitCode.failure.rawValue)
            }
        }
    }
}
