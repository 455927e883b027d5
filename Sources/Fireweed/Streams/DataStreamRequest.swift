// A request whose content is handed on as it comes.

import Dispatch
import FireweedTransport
public import Foundation
public import FoundationNetworking
import Synchronization

/// A request that hands its response's content on piece by piece and keeps none of it.
///
/// A handler that is slower than the network slows the network down: what waits for one handler stays below a megabyte or so. A
/// handler gets what comes after it was added. The request ends when every handler has dealt with what came, so that a handler's
/// error counts; after `cancel()` no further value is handed on. A retry starts the content over, for the same handlers.
public final class DataStreamRequest: Request, @unchecked Sendable {
    // SAFETY: all its stored properties are `let`s of `Sendable` types.

    /// Called with each event of a stream, in order, one call at a time.
    ///
    /// What it throws ends the request with that error, in `AFError.responseSerializationFailed` unless it is an `AFError`; what it
    /// throws for `.complete` comes too late and is ignored.
    public typealias Handler<Success, Failure: Error> = @Sendable (Stream<Success, Failure>) throws -> Void

    /// Checks the head of a response; success, or the error that the request ends with.
    public typealias Validation = @Sendable (_ request: URLRequest?, _ response: HTTPURLResponse) -> ValidationResult

    /// An event, and the means to stop the stream.
    public struct Stream<Success: Sendable, Failure: Error>: Sendable {
        /// What happened.
        public let event: Event<Success, Failure>
        /// Stops the stream.
        public let token: CancellationToken

        /// Stops the stream.
        public func cancel() {
            token.cancel()
        }
    }

    /// What happens in a stream: any number of values, then one completion.
    public enum Event<Success: Sendable, Failure: Error>: Sendable {
        /// A value, or why it could not be made.
        case stream(Result<Success, Failure>)
        /// The end.
        case complete(Completion)
    }

    /// How a stream ended.
    public struct Completion: Sendable {
        /// The request that was sent last.
        public let request: URLRequest?
        /// The server's response.
        public let response: HTTPURLResponse?
        /// What the task took.
        public let metrics: TaskMetrics?
        /// Why the stream ended early, if it did.
        public let error: AFError?
        /// The content of a response with a status from 400 on, as `DataStreamRequest.data`; `nil` for other responses.
        public let data: Data?
    }

    /// Stops a stream.
    public struct CancellationToken: Sendable {
        weak let request: DataStreamRequest?

        /// Cancels the request.
        public func cancel() {
            request?.cancel()
        }
    }

    /// What the request was made from.
    public let convertible: any URLRequestConvertible
    /// Whether a failure of a serialiser cancels the request, which then completes with `AFError.explicitlyCancelled`.
    public let automaticallyCancelOnStreamError: Bool
    private let audience = Mutex(Audience())
    /// What is sent, where it is not the `URLRequest`'s own content.
    private let body: Result<BodySource, any Error>?

    init(
        convertible: any URLRequestConvertible, automaticallyCancelOnStreamError: Bool, core: SessionCore,
        interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?,
        body: Result<BodySource, any Error>? = nil
    ) {
        self.convertible = convertible
        self.body = body
        self.automaticallyCancelOnStreamError = automaticallyCancelOnStreamError
        super.init(core: core, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    override func makeRecord() throws -> RequestRecord {
        let record = try RequestRecord(convertible)
        guard let source = eventSource else { return record }
        return try RequestRecord(source.completing(record.urlRequest))
    }

    override func makeBody(for record: RequestRecord) throws -> BodySource {
        guard let body else { return try super.makeBody(for: record) }
        do {
            return try body.get()
        } catch {
            throw error.asAFError(or: .createUploadableFailed(error: error))
        }
    }

    // MARK: What comes in

    override var inspectsHead: Bool { true }

    override func receive(_ head: ResponseHead, of attempt: Attempt) -> HeadDisposition {
        let isError = head.status >= 400
        let source = audience.withLock { audience in
            audience.errorContent = isError ? ErrorContent(isRefused: audience.eventSource != nil) : nil
            return audience.eventSource
        }
        guard let refusal = source?.refusal(of: head) else { return offerResponse(of: attempt) }
        mutable.withLock { $0.error = $0.error ?? refusal }
        _ = offerResponse(of: attempt)  // it may be looked at, and changes nothing any more
        if isError {
            // The content of a refused response is only kept; a peer that does not end it delays the error by at most
            // this time.
            core.rootQueue.asyncAfter(deadline: .now() + Self.errorContentTime) { [weak attempt] in attempt?.cancel() }
            return .proceed
        }
        attempt.cancel()
        return .wait
    }

    override var gathersContent: Bool { true }

    override func receive(_ bytes: UnsafeRawBufferPointer, of attempt: Attempt) -> Intake {
        enum Step { case taken, enough, handOn(Data, [any StreamSink]) }
        let step = audience.withLock { audience -> Step in
            audience.errorContent?.append(bytes)
            if let error = audience.errorContent, error.isRefused { return error.isFull ? .enough : .taken }
            guard !audience.sinks.isEmpty else { return .taken }
            return audience.gathered.append(bytes).map { .handOn($0, audience.sinks) } ?? .taken
        }
        switch step {
        case .taken: break
        case .enough: attempt.cancel()
        case .handOn(let data, let sinks):
            handOn(data, to: sinks)
            if sinks.contains(where: \.isFull) { return .isFull }
        }
        return .wantsMore
    }

    override func attemptDidReachLull(_ attempt: Attempt) {
        handOnGathered()
    }

    private func handOnGathered() {
        let rest = audience.withLock { audience in audience.gathered.take().map { ($0, audience.sinks) } }
        if let (data, sinks) = rest { handOn(data, to: sinks) }
    }

    private func handOn(_ data: Data, to sinks: [any StreamSink]) {
        for sink in sinks { sink.receive(data) }
    }

    override func resetContent() {
        audience.withLock { audience in
            audience.gathered = GatheredContent()
            audience.errorContent = nil
        }
        for sink in audience.withLock({ $0.sinks }) { sink.restart() }
    }

    // MARK: The end

    override func defersEnd(of attempt: Attempt, failure: TransferFailure?) -> Bool {
        guard !isStopped else { return false }
        handOnGathered()
        return audience.withLock { audience in
            guard audience.workCount > 0 else { return false }
            audience.pendingEnd = (attempt, failure)
            return true
        }
    }

    override func reconnectionDelay(after error: AFError?) -> TimeInterval? {
        guard !isCancelled, let source = eventSource, let method = lastAttempt?.record.method,
            let delay = source.delay(after: error, method: HTTPMethod(rawValue: method))
        else { return nil }
        forgetOldAttempts()
        return delay
    }

    override func outcomeSettled() {
        guard !isStopped else { return }
        let isWhole = error == nil
        for sink in audience.withLock({ $0.sinks }) { sink.finish(isWhole: isWhole) }
    }

    override func cleanup() {
        audience.withLock { audience in
            audience.sinks = []
            audience.eventSource = nil
        }
    }
}

// MARK: - Sinks

extension DataStreamRequest {
    /// Who takes the content, and what they still do with it.
    private struct Audience: Sendable {
        var sinks: [any StreamSink] = []
        /// What came since content was handed on last.
        var gathered = GatheredContent()
        /// How many pieces and values are being read or handled.
        var workCount = 0
        /// The end of an attempt that waits for that work, which may still change the outcome.
        var pendingEnd: (attempt: Attempt, failure: TransferFailure?)?
        var eventSource: EventSource?
        /// What has come of a response with a status from 400 on.
        var errorContent: ErrorContent?
        /// True once a value of a stream has ended the request: the values before it are still handed on.
        var hasFailed = false
        weak var input: InputConduit?
    }

    func add(_ sink: any StreamSink) -> Self {
        audience.withLock { $0.sinks.append(sink) }
        return add(sink as any ResponseSlot)
    }

    /// Gives a consumer no more; those that are left go on.
    func remove(_ sink: any StreamSink) {
        audience.withLock { $0.sinks.removeAll { $0 === sink } }
    }

    /// Makes this conduit the one that an `InputStream` reads from; returns the one before.
    func replaceInput(by conduit: InputConduit) -> InputConduit? {
        audience.withLock { audience in
            defer { audience.input = conduit }
            return audience.input
        }
    }

    /// Keeps the end of the attempt back until `endWork`.
    func beginWork() {
        audience.withLock { $0.workCount += 1 }
    }

    func endWork() {
        let end = audience.withLock { audience -> (attempt: Attempt, failure: TransferFailure?)? in
            audience.workCount -= 1
            guard audience.workCount == 0 else { return nil }
            defer { audience.pendingEnd = nil }
            return audience.pendingEnd
        }
        if let end { complete(end.attempt, failure: end.failure) }
    }

    /// True once the owner cancelled: what has come and was not handed on yet is dropped.
    var isStopped: Bool {
        let isCancelled = mutable.withLock { state in
            guard state.lifecycle.visible == .cancelled else { return false }
            if case .explicitlyCancelled? = state.error { return true }
            return false
        }
        return isCancelled && !audience.withLock { $0.hasFailed }
    }

    var completion: Completion {
        let evidence = evidence
        return Completion(
            request: evidence.request, response: evidence.response, metrics: evidence.metrics, error: error, data: data)
    }

    /// Ends the request because a value could not be made or was refused.
    func fail(inStream error: AFError) {
        if !isStopped { audience.withLock { $0.hasFailed = true } }
        handle(.cancel) { state in
            if state.lifecycle.isOutcomeOpen { state.error = state.error ?? error }
        }
    }
}

// MARK: - The content of errors

extension DataStreamRequest {
    /// How many bytes of the content of an error `data` has at most: 64 KiB.
    public static let maximumErrorContentByteCount = 64 * 1024

    /// The beginning of the last response's content where its status is 400 or more, so that an error can be read;
    /// otherwise `nil`.
    ///
    /// At most `maximumErrorContentByteCount` bytes. Streams get the content as well, apart from `serverSentEvents()`,
    /// which is for content of its own type alone, and waits for the content of an error for two seconds.
    public var data: Data? { audience.withLock { $0.errorContent?.data } }

    private static let errorContentTime = DispatchTimeInterval.seconds(2)

    /// The content of a response that says that something is wrong, up to the limit.
    private struct ErrorContent: Sendable {
        /// True when the content is only kept, and no handler gets it.
        let isRefused: Bool
        private(set) var data = Data()

        init(isRefused: Bool) {
            self.isRefused = isRefused
        }

        var isFull: Bool { data.count >= DataStreamRequest.maximumErrorContentByteCount }

        mutating func append(_ bytes: UnsafeRawBufferPointer) {
            let room = DataStreamRequest.maximumErrorContentByteCount - data.count
            if room > 0 { data.append(contentsOf: bytes.prefix(room)) }
        }
    }
}

// MARK: - Server-sent events

extension DataStreamRequest {
    /// What is known about the source of events that this request is, if it is one.
    var eventSource: EventSource? { audience.withLock { $0.eventSource } }

    /// Makes the request a source of events, unless it is one.
    func becomeEventSource(_ make: () -> EventSource) -> EventSource {
        let made = make()
        return audience.withLock { audience in
            let source = audience.eventSource ?? made
            audience.eventSource = source
            return source
        }
    }

    /// Of the attempts of a source that reconnects for years, the first and the latest are kept.
    private func forgetOldAttempts() {
        mutable.withLock { state in
            if state.attempts.count > 32 { state.attempts.removeSubrange(1..<state.attempts.count - 15) }
            if state.records.count > 64 { state.records.removeSubrange(1..<state.records.count - 31) }
        }
    }
}

extension DataStreamRequest.Stream {
    /// The value or its failure, for `.stream`.
    public var result: Result<Success, Failure>? { if case .stream(let result) = event { result } else { nil } }
    /// The value, for a successful `.stream`.
    public var value: Success? { if case .success(let value) = result { value } else { nil } }
    /// The failure, for a failed `.stream`.
    public var error: Failure? { if case .failure(let error) = result { error } else { nil } }
    /// The end, for `.complete`.
    public var completion: DataStreamRequest.Completion? {
        if case .complete(let completion) = event { completion } else { nil }
    }
}
