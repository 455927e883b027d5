// What users see of an attempt: `URLSessionTask`'s members on our own type.

public import Foundation
public import FoundationNetworking

/// One try of a request on the wire.
///
/// A retry makes the next task; redirects stay inside one.
///
/// It shows what `URLSessionTask` shows, and is made only when someone asks for it. Two tasks are equal when they stand for the same
/// try. The request controls the task: use the request's `cancel()`, `suspend()` and `resume()`.
public class SessionTask: @unchecked Sendable, Hashable, CustomStringConvertible {
    // SAFETY: its one stored property is a `let` of `Sendable` type.

    /// The states of a task, as `URLSessionTask.State` names them.
    public enum State: Int, Sendable {
        /// Bytes may move.
        case running
        /// Not begun yet, or held.
        case suspended
        /// Told to stop, and not stopped yet.
        case canceling
        /// Over.
        case completed
    }

    enum Kind: Sendable {
        case data, upload, download
    }

    let attempt: Attempt

    init(attempt: Attempt) {
        self.attempt = attempt
    }

    /// A number that no other task of the session has; counts from 1.
    public var taskIdentifier: Int { attempt.identifier }
    /// The request that the task was made with.
    public var originalRequest: URLRequest? { attempt.record.urlRequest }
    /// The request of the present hop, which a redirect makes another one.
    public var currentRequest: URLRequest? { attempt.currentRequest }
    /// The response, once its head is there.
    public var response: HTTPURLResponse? { attempt.httpURLResponse }
    /// Where the task stands.
    public var state: State { attempt.taskState }
    /// Bytes of content that came, after decoding.
    public var countOfBytesReceived: Int64 { attempt.downloadCounts.completed }
    /// Bytes of content that were sent.
    public var countOfBytesSent: Int64 { attempt.uploadCounts.completed }
    /// The announced length of the response's content, or `NSURLSessionTransferSizeUnknown` (-1).
    public var countOfBytesExpectedToReceive: Int64 { attempt.downloadCounts.total ?? -1 }
    /// The announced length of the request's content, or `NSURLSessionTransferSizeUnknown` (-1).
    public var countOfBytesExpectedToSend: Int64 { attempt.uploadCounts.total ?? -1 }
    /// The error that the task ended with; `nil` while it runs, and when a whole response came.
    public var error: (any Error)? { attempt.error }
    /// What each hop took, once the task has ended; `nil` before, and when nothing was sent.
    public var metrics: TaskMetrics? { attempt.metrics }

    /// The progress of the response's content at this moment; made anew at each call.
    public var progress: Progress {
        let counts = attempt.downloadCounts
        let progress = Progress(totalUnitCount: counts.total ?? -1)
        progress.completedUnitCount = counts.completed
        return progress
    }

    /// The task's number and the request it was made with.
    public var description: String {
        "SessionTask \(taskIdentifier): \(attempt.record.method) \(attempt.record.url.absoluteString)"
    }

    /// Two tasks are equal when they stand for the same try.
    public static func == (left: SessionTask, right: SessionTask) -> Bool {
        left.attempt === right.attempt
    }

    /// Hashes the identity of the try.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(attempt))
    }
}

/// A task whose response's content is kept in memory or streamed.
public class SessionDataTask: SessionTask, @unchecked Sendable {}

/// A task that sends content of its own.
public final class SessionUploadTask: SessionDataTask, @unchecked Sendable {}

/// A task whose response's content goes to a file.
public final class SessionDownloadTask: SessionTask, @unchecked Sendable {}

extension SessionTask.Kind {
    func makeTask(for attempt: Attempt) -> SessionTask {
        switch self {
        case .data: SessionDataTask(attempt: attempt)
        case .upload: SessionUploadTask(attempt: attempt)
        case .download: SessionDownloadTask(attempt: attempt)
        }
    }
}
