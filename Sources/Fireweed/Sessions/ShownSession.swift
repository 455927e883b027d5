// The URLSession that a session shows to callers, monitors and delegates.

import Dispatch
import Foundation
import FoundationNetworking

/// Foundation's session of a ``Session``: it has the configuration and the delegate, and sends nothing.
///
/// `invalidateAndCancel()` ends the requests of the ``Session`` too. `finishTasksAndInvalidate()` lets them finish.
final class ShownSession: URLSession, @unchecked Sendable {
    // SAFETY: URLSession is Sendable, and the one property that is added is a `let` of a Sendable type.
    private let didInvalidate: @Sendable () -> Void

    /// Makes a session.
    ///
    /// - Parameters:
    ///   - configuration: the configuration that callers read.
    ///   - delegate: the delegate of the ``Session``.
    ///   - rootQueue: the queue on which Foundation calls the delegate.
    ///   - didInvalidate: called by each `invalidateAndCancel()`; Foundation notifies the delegate.
    init(
        configuration: URLSessionConfiguration, delegate: SessionDelegate, rootQueue: DispatchQueue,
        didInvalidate: @escaping @Sendable () -> Void
    ) {
        self.didInvalidate = didInvalidate
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.underlyingQueue = rootQueue
        super.init(configuration: configuration, delegate: delegate, delegateQueue: queue)
    }

    override func invalidateAndCancel() {
        didInvalidate()
        super.invalidateAndCancel()
    }
}
