// Starting programs from many tests at once.

public import Foundation
import Glibc
import Synchronization

extension Process {
    fileprivate static let turn = Mutex(())

    /// Runs the program, in turn with all others of this process.
    ///
    /// A child inherits what another `run()` has just opened and not yet marked: the end of the one process is then
    /// seen only when the other one has ended too.
    ///
    /// No turn helps against this: `run()` copies 256 bytes of each name in `/proc/self/fd`, and with some 1,360
    /// descriptors open the last of them lie behind its memory. Tests run eight at a time, which keeps far below that.
    ///
    /// The turn watch of the tests' own process would write its reports into the program's errors, which tests compare.
    public func start() throws {
        var variables = environment ?? ProcessInfo.processInfo.environment
        variables["FIREWEED_TURN_LIMIT"] = nil
        environment = variables
        try Self.turn.withLock { _ in try run() }
    }
}

extension Pipe {
    /// A pipe of which no child has an end, apart from those that are given one.
    ///
    /// Foundation's own are inherited: a program that another test starts at the same moment keeps the writing end, and
    /// this pipe then has no end until that program ends.
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
