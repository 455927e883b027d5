// Starting programs from many tests at once.

public import Foundation
import Glibc
import Synchronization

extension Process {
    fileprivate static let turn = Mutex(())

    /// Runs the program; this process starts one program at a time.
    ///
    /// Without the lock, a child inherits descriptors that a concurrent `run()` has opened and not yet marked
    /// close-on-exec: a pipe of one process then stays open until the other process ends.
    ///
    /// The lock does not prevent another fault: `run()` copies 256 bytes of each name in `/proc/self/fd`, and with
    /// about 1,360 open descriptors the last copies go beyond its buffer. Tests run eight at a time, which keeps far
    /// below that number.
    ///
    /// `FIREWEED_TURN_LIMIT` is removed from the environment: with this variable, the program writes reports to its
    /// standard error, which tests compare.
    public func start() throws {
        var variables = environment ?? ProcessInfo.processInfo.environment
        variables["FIREWEED_TURN_LIMIT"] = nil
        environment = variables
        try Self.turn.withLock { _ in try run() }
    }
}

extension Pipe {
    /// Makes a pipe that only those children inherit to which one of its ends is passed.
    ///
    /// All children inherit Foundation's pipes. A program that another test starts at the same moment would keep the
    /// writing end, and reading from the pipe would not end before that program.
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
