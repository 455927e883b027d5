// Exit codes of the command.

/// The exit codes of `fireweed`; they are part of its interface.
enum ExitCode: Int32 {
    /// A response was received, and passed `--check-status` and `--expect`.
    case success = 0
    /// A failure outside of the network, such as a file that could not be read or written.
    case failure = 1
    /// A time-out expired.
    case timedOut = 2
    /// 3xx under `--check-status`, such as a redirect that was not followed.
    case redirect = 3
    /// 4xx under `--check-status`.
    case clientError = 4
    /// 5xx, or a status of no known class, under `--check-status`; or an `--expect` that does not hold.
    case serverError = 5
    /// The host is unknown, there was no connection or no response, or the connection was lost.
    case network = 6
    /// The TLS handshake failed or the server is not trusted.
    case tls = 7
    /// The command line is wrong.
    case usage = 64
    /// Ended by SIGHUP: the terminal was closed.
    case hungUp = 129
    /// Interrupted from the keyboard (SIGINT).
    case interrupted = 130
    /// Ended by SIGTERM.
    case terminated = 143

    /// Whether a signal has ended the command.
    var isInterruption: Bool { [.hungUp, .interrupted, .terminated].contains(self) }

    /// The exit code for a status under `--check-status`; a status of no known class counts as 5xx (RFC 9110 §15).
    init(status: Int) {
        switch status {
        case 100..<300: self = .success
        case 300..<400: self = .redirect
        case 400..<500: self = .clientError
        default: self = .serverError
        }
    }
}
