// Delivery of a stream's content to its consumers.

import Dispatch
import FireweedTransport
import Foundation
import Synchronization

/// Passes the content of a response to the consumers of a stream as it comes; keeps only the first bytes of an error
/// response.
final class StreamReceiver: ResponseReceiver {
    private struct State: Sendable {
        var sinks: [any StreamSink] = []
        /// Content that no consumer has got yet.
        var coalesced = ContentCoalescer()
        /// The number of pieces and values that are waiting, being read or being handled.
        var workCount = 0
        /// The end of an attempt, delayed while pieces or values that are not handled yet may change the outcome.
        var pendingEnd: (attempt: Attempt, failure: TransferFailure?)?
        var eventSource: EventSource?
        /// The content of a response with a status from 400 on.
        var errorContent: ErrorContent?
        /// True once a value of a stream has ended the request: the values before it are still delivered.
        var hasFailed = false
        weak var input: InputConduit?
        var gate = SequenceGate()

        /// Whether any consumer gets content of the current response.
        var hasReaders: Bool { gate.isOpen ? !sinks.isEmpty : sinks.contains { !$0.isSequence } }
    }

    private let state = Mutex(State())

    /// The state of the source of server-sent events; `nil` for other streams.
    var eventSource: EventSource? { state.withLock { $0.eventSource } }
    /// The first bytes of the content of a response with a status from 400 on; otherwise `nil`.
    var errorContent: Data? { state.withLock { $0.errorContent?.data } }
    var hasFailed: Bool { state.withLock { $0.hasFailed } }

    func completing(_ record: RequestRecord) throws -> RequestRecord {
        guard let source = eventSource else { return record }
        return try RequestRecord(source.completing(record.urlRequest))
    }

    // MARK: Receiving

    var needsHead: Bool { true }

    func receive(_ head: ResponseHead, of attempt: Attempt, for request: Request) -> HeadDisposition {
        let isError = head.status >= 400
        let (source, isJudged) = state.withLock { state in
            state.errorContent = isError ? ErrorContent(isRefused: state.eventSource != nil) : nil
            return (state.eventSource, state.gate.begin(attempt))
        }
        guard let refusal = source?.refusal(of: head) else {
            return isJudged ? judge(attempt, of: request) : request.offerResponse(of: attempt)
        }
        request.mutable.withLock { $0.fail(refusal) }
        _ = request.offerResponse(of: attempt)  // the request has failed already: the decision has no effect
        if isError {
            // The content of a refused response is only stored in `errorContent`. A server that does not end the
            // content delays the error by at most `longestWait`.
            request.core.clock.schedule(.limit, after: ErrorContent.longestWait, on: request.core.arguments.rootQueue) {
                [weak attempt] in
                attempt?.cancel()
            }
            return .proceed
        }
        attempt.cancel()
        return .wait
    }

    /// Validates the head before any content is delivered, as sequences require.
    private func judge(_ attempt: Attempt, of request: Request) -> HeadDisposition {
        guard request.hasValidators else {
            state.withLock { $0.gate.judged(attempt, []) }
            passHead(of: attempt)
            return request.offerResponse(of: attempt)
        }
        // Validators are user code, which must not run on the transport's thread.
        request.serializationQueue.async { [self] in
            let results = request.judgeHead(of: attempt)
            state.withLock { $0.gate.judged(attempt, results) }
            passHead(of: attempt)
            if case .proceed = request.offerResponse(of: attempt) { attempt.allow() }
        }
        return .wait
    }

    /// Gives the head of an acceptable response to the consumers that wait for a head.
    private func passHead(of attempt: Attempt) {
        let sinks = state.withLock { state in
            guard state.eventSource == nil, state.gate.isOpen else { return [any StreamSink]() }
            return state.gate.admitted(state.sinks.filter(\.takesHead))
        }
        guard !sinks.isEmpty, let head = attempt.head else { return }
        for sink in sinks { sink.receive(head) }
    }

    func headResults(of attempt: Attempt) -> [Request.ValidationResult?] {
        state.withLock { $0.gate.end(attempt) }
    }

    var forbidsRetry: Bool {
        state.withLock { state in
            state.gate.hasDelivered && state.eventSource == nil && state.sinks.contains(where: \.isSequence)
        }
    }

    var coalescesContent: Bool { true }
    var isStream: Bool { true }

    func receive(_ bytes: UnsafeRawBufferPointer, of attempt: Attempt) -> Demand {
        enum Arrival { case kept, enough, pass(Data, [any StreamSink]) }
        let arrival = state.withLock { state -> Arrival in
            state.errorContent?.append(bytes)
            if let error = state.errorContent, error.isRefused { return error.isFull ? .enough : .kept }
            guard state.hasReaders else { return .kept }
            return state.coalesced.append(bytes).map { .pass($0, state.gate.admitted(state.sinks)) } ?? .kept
        }
        switch arrival {
        case .kept: break
        case .enough: attempt.cancel()
        case .pass(let data, let sinks):
            for sink in sinks { sink.receive(data) }
            if sinks.contains(where: \.isFull) { return .isFull }
        }
        return .wantsMore
    }

    func readComplete() {
        let rest = state.withLock { state in state.coalesced.take().map { ($0, state.gate.admitted(state.sinks)) } }
        guard let (data, sinks) = rest else { return }
        for sink in sinks { sink.receive(data) }
    }

    // MARK: The end

    func delaysEnd(of attempt: Attempt, failure: TransferFailure?, for request: Request) -> Bool {
        guard !isStopped(request) else { return false }
        readComplete()
        return state.withLock { state in
            guard state.workCount > 0 else { return false }
            state.pendingEnd = (attempt, failure)
            return true
        }
    }

    func request(_ request: Request, reached stage: ConclusionStage) {
        switch stage {
        case .contentEnd, .validated: break
        case .retry:
            let sinks = state.withLock { state in
                state.coalesced = ContentCoalescer()
                state.errorContent = nil
                return state.sinks
            }
            for sink in sinks { sink.restart() }
        case .outcome:
            guard !isStopped(request) else { return }
            let isWhole = request.error == nil
            for sink in state.withLock({ $0.sinks }) { sink.finish(isWhole: isWhole) }
        case .delivery:
            state.withLock { state in
                state.sinks = []
                state.eventSource = nil
            }
        }
    }

    func reconnectionDelay(after error: AFError?, of request: Request) -> TimeInterval? {
        guard !request.isCancelled, let source = eventSource, let method = request.lastAttempt?.record.method,
            let delay = source.delay(after: error, method: HTTPMethod(rawValue: method))
        else { return nil }
        request.forgetOldAttempts()
        return delay
    }

    /// True once the caller has cancelled the request: content that was not delivered yet is dropped.
    func isStopped(_ request: Request) -> Bool {
        let isCancelled = request.mutable.withLock { state in
            guard state.lifecycle.visible == .cancelled else { return false }
            if case .explicitlyCancelled? = state.error { return true }
            return false
        }
        return isCancelled && !hasFailed
    }

    // MARK: The consumers

    func add(_ sink: any StreamSink, of request: DataStreamRequest) {
        // If the head came before the first sequence, it was not validated: it is validated now.
        if sink.isSequence, let attempt = state.withLock({ $0.gate.admit() }) {
            let results = request.judgeHead(of: attempt)
            state.withLock { $0.gate.judged(attempt, results) }
        }
        let attempt = state.withLock { state in
            state.sinks.append(sink)
            return sink.takesHead ? state.gate.attempt : nil
        }
        if let attempt { passHead(of: attempt) }
    }

    /// Removes a consumer, which gets no more content; the other consumers continue.
    func remove(_ sink: any StreamSink) {
        state.withLock { $0.sinks.removeAll { $0 === sink } }
    }

    /// Replaces the conduit that an `InputStream` reads from; returns the previous one.
    func replaceInput(by conduit: InputConduit) -> InputConduit? {
        state.withLock { state in
            defer { state.input = conduit }
            return state.input
        }
    }

    /// Makes the stream a source of events, unless it is one already; returns the source.
    func becomeEventSource(_ make: () -> EventSource) -> EventSource {
        let made = make()
        return state.withLock { state in
            let source = state.eventSource ?? made
            state.eventSource = source
            return source
        }
    }

    /// Delays the end of the attempt until `endWork`.
    func beginWork() {
        state.withLock { $0.workCount += 1 }
    }

    func endWork(of request: Request) {
        let end = state.withLock { state -> (attempt: Attempt, failure: TransferFailure?)? in
            state.workCount -= 1
            guard state.workCount == 0 else { return nil }
            defer { state.pendingEnd = nil }
            return state.pendingEnd
        }
        if let end { request.complete(end.attempt, failure: end.failure) }
    }

    /// Ends the request because a value could not be made, or because a handler threw an error.
    func fail(_ request: Request, with error: AFError) {
        if !isStopped(request) { state.withLock { $0.hasFailed = true } }
        request.endAsCancelled(by: error)
    }
}

/// The content of a response with a status from 400 on, up to a limit.
private struct ErrorContent: Sendable {
    static let longestWait = Duration.seconds(2)

    /// True when the content is only stored, and no consumer gets it.
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

extension Request {
    /// Releases old attempts, since a request may reconnect for years; the first and the latest attempts stay.
    fileprivate func forgetOldAttempts() {
        mutable.withLock { $0.shortenHistory() }
    }
}
