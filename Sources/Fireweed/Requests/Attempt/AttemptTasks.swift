// The tasks that represent attempts: subclasses of Foundation's classes, which override every overridable member.
//
// Each class has a different superclass of Foundation, so the overrides cannot be inherited: each class repeats them.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// A task whose response's content is kept in memory or streamed.
final class AttemptDataTask: URLSessionDataTask, AttemptTask, @unchecked Sendable {
    // SAFETY: its one stored property is a `let` of `Sendable` type.

    let attempt: Attempt

    init(attempt: Attempt) {
        self.attempt = attempt
        super.init()
    }

    override var taskIdentifier: Int { attempt.identifier }
    override var originalRequest: URLRequest? { attempt.originalRequest }
    override var currentRequest: URLRequest? { attempt.currentRequest }
    override var response: URLResponse? { attempt.httpURLResponse }
    override var state: URLSessionTask.State { attempt.taskState }
    override var error: (any Error)? { attempt.error }
    override var progress: Progress { attempt.progress }
    override var countOfBytesReceived: Int64 { attempt.downloadCounts.completed }
    override var countOfBytesSent: Int64 { attempt.uploadCounts.completed }
    override var countOfBytesExpectedToReceive: Int64 {
        attempt.downloadCounts.total ?? NSURLSessionTransferSizeUnknown
    }
    override var countOfBytesExpectedToSend: Int64 { attempt.uploadCounts.total ?? NSURLSessionTransferSizeUnknown }
    override var taskDescription: String? {
        get { attempt.taskSettings.values.withLock { $0.description } }
        set { attempt.taskSettings.values.withLock { $0.description = newValue } }
    }
    override var priority: Float {
        get { attempt.taskSettings.values.withLock { $0.priority } }
        set { attempt.taskSettings.values.withLock { $0.priority = newValue } }
    }
    override var earliestBeginDate: Date? {
        get { attempt.taskSettings.values.withLock { $0.earliestBeginDate } }
        set { attempt.taskSettings.values.withLock { $0.earliestBeginDate = newValue } }
    }
    override var countOfBytesClientExpectsToSend: Int64 {
        get { attempt.taskSettings.values.withLock { $0.expectedToSend } }
        set { attempt.taskSettings.values.withLock { $0.expectedToSend = newValue } }
    }
    override var countOfBytesClientExpectsToReceive: Int64 {
        get { attempt.taskSettings.values.withLock { $0.expectedToReceive } }
        set { attempt.taskSettings.values.withLock { $0.expectedToReceive = newValue } }
    }
    override var description: String { text }
    override var hash: Int { ObjectIdentifier(attempt).hashValue }
    override func isEqual(_ object: Any?) -> Bool { isSameTry(as: object) }
    override func resume() { attempt.resume() }
    override func suspend() { attempt.suspend() }
    override func cancel() { attempt.cancelTask() }
}

/// A task that uploads the request's content.
final class AttemptUploadTask: URLSessionUploadTask, AttemptTask, @unchecked Sendable {
    // SAFETY: its one stored property is a `let` of `Sendable` type.

    let attempt: Attempt

    init(attempt: Attempt) {
        self.attempt = attempt
        super.init()
    }

    override var taskIdentifier: Int { attempt.identifier }
    override var originalRequest: URLRequest? { attempt.originalRequest }
    override var currentRequest: URLRequest? { attempt.currentRequest }
    override var response: URLResponse? { attempt.httpURLResponse }
    override var state: URLSessionTask.State { attempt.taskState }
    override var error: (any Error)? { attempt.error }
    override var progress: Progress { attempt.progress }
    override var countOfBytesReceived: Int64 { attempt.downloadCounts.completed }
    override var countOfBytesSent: Int64 { attempt.uploadCounts.completed }
    override var countOfBytesExpectedToReceive: Int64 {
        attempt.downloadCounts.total ?? NSURLSessionTransferSizeUnknown
    }
    override var countOfBytesExpectedToSend: Int64 { attempt.uploadCounts.total ?? NSURLSessionTransferSizeUnknown }
    override var taskDescription: String? {
        get { attempt.taskSettings.values.withLock { $0.description } }
        set { attempt.taskSettings.values.withLock { $0.description = newValue } }
    }
    override var priority: Float {
        get { attempt.taskSettings.values.withLock { $0.priority } }
        set { attempt.taskSettings.values.withLock { $0.priority = newValue } }
    }
    override var earliestBeginDate: Date? {
        get { attempt.taskSettings.values.withLock { $0.earliestBeginDate } }
        set { attempt.taskSettings.values.withLock { $0.earliestBeginDate = newValue } }
    }
    override var countOfBytesClientExpectsToSend: Int64 {
        get { attempt.taskSettings.values.withLock { $0.expectedToSend } }
        set { attempt.taskSettings.values.withLock { $0.expectedToSend = newValue } }
    }
    override var countOfBytesClientExpectsToReceive: Int64 {
        get { attempt.taskSettings.values.withLock { $0.expectedToReceive } }
        set { attempt.taskSettings.values.withLock { $0.expectedToReceive = newValue } }
    }
    override var description: String { text }
    override var hash: Int { ObjectIdentifier(attempt).hashValue }
    override func isEqual(_ object: Any?) -> Bool { isSameTry(as: object) }
    override func resume() { attempt.resume() }
    override func suspend() { attempt.suspend() }
    override func cancel() { attempt.cancelTask() }
}

/// A task whose response's content goes to a file.
final class AttemptDownloadTask: URLSessionDownloadTask, AttemptTask, @unchecked Sendable {
    // SAFETY: its one stored property is a `let` of `Sendable` type.

    let attempt: Attempt

    init(attempt: Attempt) {
        self.attempt = attempt
        super.init()
    }

    override var taskIdentifier: Int { attempt.identifier }
    override var originalRequest: URLRequest? { attempt.originalRequest }
    override var currentRequest: URLRequest? { attempt.currentRequest }
    override var response: URLResponse? { attempt.httpURLResponse }
    override var state: URLSessionTask.State { attempt.taskState }
    override var error: (any Error)? { attempt.error }
    override var progress: Progress { attempt.progress }
    override var countOfBytesReceived: Int64 { attempt.downloadCounts.completed }
    override var countOfBytesSent: Int64 { attempt.uploadCounts.completed }
    override var countOfBytesExpectedToReceive: Int64 {
        attempt.downloadCounts.total ?? NSURLSessionTransferSizeUnknown
    }
    override var countOfBytesExpectedToSend: Int64 { attempt.uploadCounts.total ?? NSURLSessionTransferSizeUnknown }
    override var taskDescription: String? {
        get { attempt.taskSettings.values.withLock { $0.description } }
        set { attempt.taskSettings.values.withLock { $0.description = newValue } }
    }
    override var priority: Float {
        get { attempt.taskSettings.values.withLock { $0.priority } }
        set { attempt.taskSettings.values.withLock { $0.priority = newValue } }
    }
    override var earliestBeginDate: Date? {
        get { attempt.taskSettings.values.withLock { $0.earliestBeginDate } }
        set { attempt.taskSettings.values.withLock { $0.earliestBeginDate = newValue } }
    }
    override var countOfBytesClientExpectsToSend: Int64 {
        get { attempt.taskSettings.values.withLock { $0.expectedToSend } }
        set { attempt.taskSettings.values.withLock { $0.expectedToSend = newValue } }
    }
    override var countOfBytesClientExpectsToReceive: Int64 {
        get { attempt.taskSettings.values.withLock { $0.expectedToReceive } }
        set { attempt.taskSettings.values.withLock { $0.expectedToReceive = newValue } }
    }
    override var description: String { text }
    override var hash: Int { ObjectIdentifier(attempt).hashValue }
    override func isEqual(_ object: Any?) -> Bool { isSameTry(as: object) }
    override func resume() { attempt.resume() }
    override func suspend() { attempt.suspend() }
    override func cancel() { attempt.cancelTask() }
    /// Cancels the attempt without resume data; for resume data, see `DownloadRequest.cancel(byProducingResumeData:)`.
    override func cancel(byProducingResumeData completionHandler: @escaping (Data?) -> Void) {
        cancel()
        completionHandler(nil)
    }
}

/// The task of a WebSocket.
final class AttemptWebSocketTask: URLSessionWebSocketTask, AttemptTask, @unchecked Sendable {
    // SAFETY: its one stored property is a `let` of `Sendable` type.

    let attempt: Attempt

    init(attempt: Attempt) {
        self.attempt = attempt
        super.init()
    }

    override var taskIdentifier: Int { attempt.identifier }
    override var originalRequest: URLRequest? { attempt.originalRequest }
    override var currentRequest: URLRequest? { attempt.currentRequest }
    override var response: URLResponse? { attempt.httpURLResponse }
    override var state: URLSessionTask.State { attempt.taskState }
    override var error: (any Error)? {
        get { attempt.error }
        set {}
    }
    override var progress: Progress { attempt.progress }
    override var countOfBytesReceived: Int64 { attempt.downloadCounts.completed }
    override var countOfBytesSent: Int64 { attempt.uploadCounts.completed }
    override var countOfBytesExpectedToReceive: Int64 {
        attempt.downloadCounts.total ?? NSURLSessionTransferSizeUnknown
    }
    override var countOfBytesExpectedToSend: Int64 { attempt.uploadCounts.total ?? NSURLSessionTransferSizeUnknown }
    override var taskDescription: String? {
        get { attempt.taskSettings.values.withLock { $0.description } }
        set { attempt.taskSettings.values.withLock { $0.description = newValue } }
    }
    override var priority: Float {
        get { attempt.taskSettings.values.withLock { $0.priority } }
        set { attempt.taskSettings.values.withLock { $0.priority = newValue } }
    }
    override var earliestBeginDate: Date? {
        get { attempt.taskSettings.values.withLock { $0.earliestBeginDate } }
        set { attempt.taskSettings.values.withLock { $0.earliestBeginDate = newValue } }
    }
    override var countOfBytesClientExpectsToSend: Int64 {
        get { attempt.taskSettings.values.withLock { $0.expectedToSend } }
        set { attempt.taskSettings.values.withLock { $0.expectedToSend = newValue } }
    }
    override var countOfBytesClientExpectsToReceive: Int64 {
        get { attempt.taskSettings.values.withLock { $0.expectedToReceive } }
        set { attempt.taskSettings.values.withLock { $0.expectedToReceive = newValue } }
    }
    override var description: String { text }
    override var hash: Int { ObjectIdentifier(attempt).hashValue }
    override func isEqual(_ object: Any?) -> Bool { isSameTry(as: object) }
    override func resume() { attempt.resume() }
    override func suspend() { attempt.suspend() }
    override func cancel() { attempt.cancelTask() }

    var link: WebSocketEventListener? {
        attempt.message.webSocket?.listener as? WebSocketEventListener
    }

    override var closeCode: CloseCode { link?.facts.closeCode?.urlSessionCode ?? .invalid }
    override var closeReason: Data? { link?.facts.closeReason }
    override var maximumMessageSize: Int {
        get { attempt.message.webSocket?.maximumMessageByteCount ?? 0 }
        set {}
    }
    override func cancel(with closeCode: CloseCode, reason: Data?) {
        guard let request = link?.request else { return cancel() }
        request.close(sending: closeCode, reason: reason)
    }
    override func sendPing(pongReceiveHandler: @escaping @Sendable ((any Error)?) -> Void) {
        guard let request = link?.request else { return pongReceiveHandler(URLError(.networkConnectionLost)) }
        request.ping { response in
            switch response {
            case .pong: pongReceiveHandler(nil)
            case .error(let error): pongReceiveHandler(error)
            case .unsent: pongReceiveHandler(URLError(.networkConnectionLost))
            }
        }
    }
    override func sendPing() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            sendPing { error in continuation.resume(with: error.map { .failure($0) } ?? .success(())) }
        }
    }
}

extension Attempt {
    /// The progress of the response's content: one object, updated from the first access on.
    ///
    /// Cancelling, pausing or resuming the `Progress` does the same to the attempt.
    var progress: Progress {
        let progress = state.withLock { state in
            let progress = state.task.progress ?? Progress(parent: nil, userInfo: nil)
            state.task.progress = progress
            return progress
        }
        progress.cancellationHandler = { [weak self] in self?.cancelTask() }
        progress.pausingHandler = { [weak self] in self?.suspend() }
        progress.resumingHandler = { [weak self] in self?.resume() }
        update(progress)
        return progress
    }

    func update(_ progress: Progress) {
        let counts = downloadCounts
        progress.totalUnitCount = counts.total ?? NSURLSessionTransferSizeUnknown
        progress.completedUnitCount = counts.completed
    }

    /// Cancels this attempt, not its request: the request ends with `URLError.cancelled` inside
    /// `AFError.sessionTaskFailed(error:)`, or is retried.
    func cancelTask() {
        cancel(with: .taskCancelled)
    }
}

extension TransferFailure {
    /// The failure of a task that was cancelled through its own `cancel()`: its request may be retried.
    static let taskCancelled = TransferFailure.exchange(.cancelled, detail: "the task was cancelled", engineCode: 0)
}

enum TaskKind: Sendable {
    case data, upload, download, webSocket

    func makeTask(for attempt: Attempt) -> URLSessionTask {
        switch self {
        case .data: AttemptDataTask(attempt: attempt)
        case .upload: AttemptUploadTask(attempt: attempt)
        case .download: AttemptDownloadTask(attempt: attempt)
        case .webSocket: AttemptWebSocketTask(attempt: attempt)
        }
    }
}
