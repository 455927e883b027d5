// What comes from the network on its way through the cache.

import FireweedTransport
import Foundation
import Synchronization

extension CachedExchange: TransferConsumer {
    /// More of an error's content than this is not waited for.
    private static let discardLimit = 64 * 1024
    /// The errors in whose place a stale response may be used (RFC 5861 §4).
    private static let toleratedStatuses: Set<Int> = [500, 502, 503, 504]

    func transferDidReceiveInterim(_ head: ResponseHead) {
        state.withLock { $0.consumer }?.transferDidReceiveInterim(head)
    }

    func transferDidAnswerChallenge(_ head: ResponseHead) {
        state.withLock { $0.consumer }?.transferDidAnswerChallenge(head)
    }

    func transferDidReceive(_ head: ResponseHead) {
        let (stored, toleratesError, requestTime) = state.withLock { state in
            state.hasHead = true
            return (state.stored, state.toleratesError, state.requestTime)
        }
        if stored != nil, head.status == 304 {
            let now = cache.now()
            return state.withLock { $0.incoming = .validated(head, at: now) }
        }
        if toleratesError, Self.toleratedStatuses.contains(head.status) {
            return state.withLock { $0.incoming = .discarding(byteCount: 0) }
        }
        note(head, requestTime: requestTime, validated: stored)
        state.withLock { $0.consumer }?.transferDidReceive(head)
    }

    /// Takes down what the head of a new response means for the cache.
    private func note(_ head: ResponseHead, requestTime: Date, validated stored: StoredResponse?) {
        if request.isUnsafe { return cache.invalidate(Invalidation.keys(after: head, to: request)) }
        if request.method == "HEAD" || (head.status == 304 && request.facts.validatesOwn) {
            return learn(from: head, requestTime: requestTime)
        }
        if let recording = recording(head, requestTime: requestTime) {
            state.withLock { $0.incoming = recording }
        } else if request.method == "GET", head.status < 400, head.status != 206, head.status != 304,
            stored != nil || !request.looksIntoCache
        {
            cache.invalidate([CacheKey.text(of: request.url)])  // something newer is known, and not stored
        }
    }

    private func learn(from head: ResponseHead, requestTime: Date) {
        guard head.status == 200 || head.status == 304, !request.facts.hasRange else { return }
        let now = cache.now()
        guard cache.mayHold(request) else { return }
        cache.queue.async { [cache, request] in
            cache.learn(from: head, to: request, requestTime: requestTime, responseTime: now)
        }
    }

    /// The record of a response that is to be stored, or `nil`.
    private func recording(_ head: ResponseHead, requestTime: Date) -> Incoming? {
        guard StoringRules.mayBeWorthStoring(head) || request.policy == .returnCacheDataElseLoad,
            host?.storesResponses ?? true, cache.maximumEntryByteCount > 0
        else { return nil }
        let control = CacheControl(head.value(of: "Cache-Control"))
        guard StoringRules.maySave(head, to: request, control: control),
            let variant = ResponseVariant(of: head, to: request, control: control),
            (head.contentLength ?? 0) <= Int64(cache.maximumEntryByteCount)
        else { return nil }
        let now = cache.now()
        return .recording(
            head: StoredHead(
                response: StoringRules.storable(head, receivedAt: now), requestTime: requestTime, responseTime: now,
                variant: variant), content: Data())
    }

    func transferDidReceive(_ bytes: UnsafeRawBufferPointer) -> Intake {
        enum Step { case pass((any TransferConsumer)?), record((any TransferConsumer)?), taken, cut }
        let step = state.withLock { state -> Step in
            switch state.incoming {
            case .passing: return .pass(state.consumer)
            case .recording: return .record(state.consumer)
            case .validated: return .taken
            case .discarding(let count):
                state.incoming = .discarding(byteCount: count + bytes.count)
                return count + bytes.count > Self.discardLimit ? .cut : .taken
            }
        }
        switch step {
        case .pass(let consumer): return consumer?.transferDidReceive(bytes) ?? .taken
        case .record(let consumer):
            let intake = consumer?.transferDidReceive(bytes) ?? .taken
            if intake == .taken { record(bytes) }
            return intake
        case .taken: return .taken
        case .cut:
            if case .network(let control) = state.withLock({ $0.phase }) { control.cancel() }
            return .taken
        }
    }

    /// Adds to the record, which ends when it becomes too large to be stored.
    private func record(_ bytes: UnsafeRawBufferPointer) {
        let limit = cache.maximumEntryByteCount
        state.withLock { state in
            guard case .recording(let head, var content) = state.incoming else { return }
            state.incoming = .passing  // so that the content has one owner while it grows
            guard content.count + bytes.count <= limit else { return }
            content.append(contentsOf: bytes)
            state.incoming = .recording(head: head, content: content)
        }
    }

    func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?) {
        state.withLock { $0.consumer }?.transferDidSend(byteCount, total: total, expected: expected)
    }

    func transferDidFinish(_ failure: TransferFailure?, report: TransferReport) {
        let (incoming, stored, requestTime, isCancelled, isTolerated) = state.withLock { state in
            let isTolerated = state.toleratesError && !state.hasHead && failure?.isOfNetwork == true
            return (state.incoming, state.stored, state.requestTime, state.isCancelled, isTolerated)
        }
        guard !isCancelled else { return end(failure ?? .cancelled, report: report) }
        switch (incoming, stored) {
        case (.validated(let answer, let time), .some(let stored)):
            cache.queue.async { self.confirm(stored, answer, report, requestTime: requestTime, responseTime: time) }
        case (.discarding, .some(let stored)): cache.queue.async { self.play(stored, source: .cache) }
        case (_, .some(let stored)) where isTolerated: cache.queue.async { self.play(stored, source: .cache) }
        case (.recording(let head, let content), _) where failure == nil:
            save(StoredResponse(head: head, content: content), report: report)
        default: end(failure, report: report)
        }
    }

    // MARK: Validation

    /// Answers with the stored response that the origin confirmed; on the cache's queue.
    private func confirm(
        _ stored: StoredResponse, _ answer: ResponseHead, _ report: TransferReport, requestTime: Date,
        responseTime: Date
    ) {
        if answer.contains("Set-Cookie") { host?.storeCookies(of: answer, from: request.url) }
        // A 304 about something else says nothing about what is stored: asked again, without conditions (§4.3.4).
        guard Validation.isAbout(stored.head, answer) else { return ask(nil) }
        let fresh = cache.freshen(
            stored, by: answer, to: request, requestTime: requestTime, responseTime: responseTime)
        play(fresh, source: .revalidation(answer, report))
    }

    /// Validates a stored response while it is being used (RFC 5861 §3); one at a time for a URL.
    func refresh(_ stored: StoredResponse) {
        guard cache.beginRefresh(of: request.url) else { return }
        let observer = RefreshObserver { [cache, url = request.url] in
            // Behind what has yet to be stored: who looks before that finds the old response, and must not ask once more.
            cache.queue.async { cache.endRefresh(of: url) }
        }
        CachedExchange(
            request, message: message, cache: cache, transport: transport, consumer: observer, host: host?.background
        ).ask(stored)
    }

    // MARK: Storing

    /// Stores a whole response, if whoever decides about that agrees; the attempt hears of the end after the decision.
    private func save(_ response: StoredResponse, report: TransferReport) {
        let url = request.url
        guard let decide = host?.storingDecision, let cached = response.cachedURLResponse(for: url) else {
            // Ahead of the end: a request that is made when this one is over finds the response.
            cache.save(response, for: url)
            return end(nil, report: report)
        }
        decide(cached) { chosen in
            if let chosen, let response = chosen === cached ? response : response.replaced(by: chosen) {
                self.cache.save(response, for: url)
            }
            self.end(nil, report: report)
        }
    }
}

/// Waits for the end of a validation that nobody else waits for.
private final class RefreshObserver: TransferConsumer {
    private let onEnd: @Sendable () -> Void

    init(onEnd: @escaping @Sendable () -> Void) {
        self.onEnd = onEnd
    }

    func transferDidReceive(_ head: ResponseHead) {}
    func transferDidReceive(_ bytes: UnsafeRawBufferPointer) -> Intake { .taken }
    func transferDidFinish(_ failure: TransferFailure?, report: TransferReport) { onEnd() }
}

extension TransferFailure {
    /// True when the origin could not be reached or did not answer; a refusal of its certificate is no such thing.
    fileprivate var isOfNetwork: Bool {
        if case .exchange(let code, _, _) = self {
            [
                .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
                .notConnectedToInternet, .badServerResponse, .resourceUnavailable,
            ].contains(code)
        } else {
            false
        }
    }
}
