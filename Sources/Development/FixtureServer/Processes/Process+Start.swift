// Starting programs from many tests at once.

public import Foundation
import Glibc
import Synchronization

extension Process {
    fileprivate static let turn = Mutex(())

    /// Runs the program; this process starts one program at a time.
    ///
    /// A child inherits descriptors that a concurrent `run()` has opened and not yet marked close-on-exec: the end of
    /// one process would be seen only when the other process has ended too.
    ///
    /// The lock does not prevent another fault: `run()` copies 256 bytes of each name in `/proc/self/fd`, and with
    /// about 1,360 open descriptors the last copies go beyond its buffer. Tests run eight at a time, which keeps far
    /// below that number.
    ///
    /// `FIREWEED_TURN_LIMIT` is removed: the program would write reports into its error output, which tests compare.
    public func start() throws {
        var variables = environment ?? ProcessInfo.processInfo.environment
        variables["FIREWEED_TURN_LIMIT"] = nil
        environment = variables
        try Self.turn.withLock { _ in try run() }
    }
}

extension Pipe {
    /// Makes a pipe that no child inherits, apart from children that are given one of its ends.
    ///
    /// Foundation's pipes are inherited: a program that another test starts at the same moment keeps the writing end,
    /// and reading from this pipe then does not end until that program ends.
    public static func closedOnExec() -> Pipe {
        Process.turn.withLock { _ in
            let pipe = Pipe()
            for handle in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
                _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC)
            }
            return pipe
        }
    }
}
