// The `URLSession` that a session gives to callers, monitors and delegates.

import Dispatch
import Foundation
import FoundationNetworking

/// Foundation's session of a ``Session``: it has the configuration and the delegate, lists the tasks of the
/// ``Session``, and sends nothing.
///
/// `invalidateAndCancel()` ends the requests of the ``Session`` too. `finishTasksAndInvalidate()` lets them finish.
final class FacadeURLSession: URLSession, @unchecked Sendable {
    // SAFETY: URLSession is Sendable, and the properties that are added are `let`s of Sendable types.
    private let tasks: @Sendable () -> [URLSessionTask]
    private let didInvalidate: @Sendable () -> Void

    /// Makes a session.
    ///
    /// - Parameters:
    ///   - configuration: the configuration that callers read.
    ///   - delegate: the delegate of the ``Session``.
    ///   - rootQueue: the queue on which Foundation calls the delegate.
    ///   - tasks: gives the tasks of the session's requests that have not ended.
    ///   - didInvalidate: called by each `invalidateAndCancel()`; Foundation notifies the delegate.
    init(
        configuration: URLSessionConfiguration, delegate: SessionDelegate, rootQueue: DispatchQueue,
        tasks: @escaping @Sendable () -> [URLSessionTask], didInvalidate: @escaping @Sendable () -> Void
    ) {
        self.tasks = tasks
        self.didInvalidate = didInvalidate
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.underlyingQueue = rootQueue
        super.init(configuration: configuration, delegate: delegate, delegateQueue: queue)
    }

    override func getAllTasks(completionHandler: @escaping @Sendable ([URLSessionTask]) -> Void) {
        delegateQueue.addOperation { [tasks] in completionHandler(tasks()) }
    }

    override func getTasksWithCompletionHandler(
        _ completionHandler:
            @escaping @Sendable (
                [URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]
            ) -> Void
    ) {
        getAllTasks { tasks in
            let uploads = tasks.compactMap { $0 as? URLSessionUploadTask }
            let downloads = tasks.compactMap { $0 as? URLSessionDownloadTask }
            // An upload task is also a data task, so it is left out here.
            let others = tasks.compactMap { $0 is URLSessionUploadTask ? nil : $0 as? URLSessionDataTask }
            completionHandler(others, uploads, downloads)
        }
    }

    override func invalidateAndCancel() {
        didInvalidate()
        super.invalidateAndCancel()
    }
}
