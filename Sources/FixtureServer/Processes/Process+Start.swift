// Starting programs from many tests at once.

public import Foundation
import Synchronization

extension Process {
    private static let turn = Mutex(())

    /// Runs the program, in turn with all others of this process.
    ///
    /// `run()` on several threads at once crashes now and then. Besides, a child inherits what another `run()` has just opened and not
    /// yet marked: the end of the one process is then seen only when the other one has ended too.
    public func start() throws {
        try Self.turn.withLock { _ in try run() }
    }
}
