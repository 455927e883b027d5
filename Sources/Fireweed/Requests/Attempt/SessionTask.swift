// Foundation's task classes, as users see an attempt.

import Foundation
public import FoundationNetworking

/// One try of a request on the wire, as Foundation's own class: code that uses `URLSessionTask` works unchanged.
///
/// A retry makes the next task; a redirect does not. A task is made at the first access. Two tasks are equal when they
/// represent the same try. `cancel()`, `suspend()` and `resume()` of a task affect this try only: prefer the methods of
/// ``Request``. `taskDescription`, `priority`, `earliestBeginDate` and the expected counts are stored and returned, and
/// have no effect on the transfer.
public typealias SessionTask = URLSessionTask

/// A task whose response's content is kept in memory or streamed.
public typealias SessionDataTask = URLSessionDataTask

/// A task that uploads the request's content.
public typealias SessionUploadTask = URLSessionUploadTask

/// A task whose response's content goes to a file.
public typealias SessionDownloadTask = URLSessionDownloadTask

extension URLSessionTask {
    /// The metrics of each exchange of a session's task, once the task has ended.
    ///
    /// `nil` before the end, and for tasks that Foundation's `URLSession` made.
    public var metrics: TaskMetrics? { (self as? any AttemptTask)?.attempt.metrics }
}

/// A task that represents an attempt.
protocol AttemptTask: URLSessionTask {
    var attempt: Attempt { get }
}

extension AttemptTask {
    func isSameTry(as other: Any?) -> Bool {
        (other as? any AttemptTask)?.attempt === attempt
    }

    var text: String {
        "\(Swift.type(of: self)) \(attempt.identifier): \(attempt.record.method) \(attempt.record.url.absoluteString)"
    }
}
