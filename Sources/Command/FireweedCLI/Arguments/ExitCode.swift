// Exit codes of the command.

/// The exit codes of `fireweed`; they are part of its interface.
enum ExitCode: Int32 {
    /// A response came, and `--check-status` and `--expect` have nothing against it.
    case success = 0
    /// A file could not be read or written, or something else that is not the network's fault.
    case failure = 1
    /// The time was over.
    case timedOut = 2
    /// 3xx under `--check-status`, with redirects not followed.
    case redirect = 3
    /// 4xx under `--check-status`.
    case clientError = 4
    /// 5xx under `--check-status`, and a status of no known class; an `--expect` that does not hold.
    case serverError = 5
    /// No connection, no such host, a connection lost, no response.
    case network = 6
    /// The TLS handshake failed or the server is not trusted.
    case tls = 7
    /// The command line is wrong.
    case usage = 64
    /// Ended by SIGHUP: the terminal has gone.
    case hungUp = 129
    /// Interrupted from the keyboard (SIGINT).
    case interrupted = 130
    /// Ended by SIGTERM.
    case terminated = 143

    /// Whether a signal has ended the command.
    var isInterruption: Bool { [.hungUp, .interrupted, .terminated].contains(self) }

    /// What `--check-status` makes of a status; a status of no known class counts as 5xx (RFC 9110 §15).
    init(status: Int) {
        switch status {
        case 100..<300: self = .success
        case 300..<400: self = .redirect
        case 400..<500: self = .clientError
        default: self = .serverError
        }
    }
}
