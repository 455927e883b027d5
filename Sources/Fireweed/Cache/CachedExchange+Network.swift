// What comes from the network on its way through the cache.

import FireweedTransport
import Foundation
import Synchronization

extension CachedExchange: TransferConsumer {
    /// The errors in whose place a stale response may be used (RFC 5861 §4).
    private static let toleratedStatuses: Set<Int> = [500, 502, 503, 504]

    func transferDidReceiveInterim(_ head: ResponseHead) {
        state.withLock { $0.consumer }?.transferDidReceiveInterim(head)
    }

    func transferDidAnswerChallenge(_ head: ResponseHead) {
        state.withLock { $0.consumer }?.transferDidAnswerChallenge(head)
    }

    func transferDidReceive(_ head: ResponseHead) -> Flow {
        let (stored, toleratesError, moment) = state.withLock { state in
            state.hasHead = true
            return (state.stored, state.toleratesError, state.moment)
        }
        if stored != nil, head.status == 304 {
            let now = cache.now()
            state.withLock { $0.incoming = .validated(head, at: now) }
            return .undecided
        }
        if toleratesError, Self.toleratedStatuses.contains(head.status) {
            let control = state.withLock { state -> (any TransferControl)? in
                state.incoming = .discarding
                if case .network(let control) = state.phase { return control }
                return nil
            }
            control?.discard()
            return .undecided
        }
        let recorder = ResponseRecorder.note(
            head, to: request, sentAt: moment, isValidated: stored != nil, cache: cache, host: host)
        let consumer = state.withLock { state in
            if let recorder { state.incoming = .recording(recorder) }
            return state.consumer
        }
        return consumer?.transferDidReceive(head) ?? .undecided
    }

    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow {
        enum Step { case pass((any TransferConsumer)?, ResponseRecorder?), store(ResponseRecorder), discard, drop }
        let byteCount = content.count
        let step = state.withLock { state -> Step in
            switch state.incoming {
            case .passing: return .pass(state.consumer, nil)
            case .recording(let recorder): return .pass(state.consumer, recorder)
            case .storing(let recorder, let count):
                let total = count + byteCount
                state.incoming = total > Self.storingLimit ? .dropped : .storing(recorder, byteCount: total)
                return total > Self.storingLimit ? .discard : .store(recorder)
            case .validated, .discarding, .dropped: return .drop
            }
        }
        switch step {
        case .pass(let consumer, let recorder):
            recorder?.append(content.bytes)
            return consumer?.transferDidReceive(content) ?? .undecided
        case .store(let recorder): recorder.append(content.bytes)
        case .discard: if case .network(let control) = state.withLock({ $0.phase }) { control.discard() }
        case .drop: break
        }
        return .undecided
    }

    /// So much of a response that nobody reads is read, so that it can be stored.
    private static let storingLimit = 64 * 1024

    func transferDidReachLull() {
        state.withLock { $0.consumer }?.transferDidReachLull()
    }

    func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?) {
        state.withLock { $0.consumer }?.transferDidSend(byteCount, total: total, expected: expected)
    }

    func transferDidFinish(_ end: consuming TransferEnd) {
        let (failure, report) = (end.failure, end.report)
        let (incoming, stored, moment, isCancelled, isTolerated) = state.withLock { state in
            let isTolerated = state.toleratesError && !state.hasHead && failure?.isOfNetwork == true
            if failure == nil, state.incoming.isToBeStored { state.phase = .saving(report) }
            return (state.incoming, state.stored, state.moment, state.isCancelled, isTolerated)
        }
        guard !isCancelled else { return self.end(failure ?? .cancelled, report: report) }
        switch (incoming, stored) {
        case (.validated(let answer, let time), .some(let stored)):
            cache.queue.async { self.confirm(stored, answer, report, requestTime: moment.time, responseTime: time) }
        case (.discarding, .some(let stored)): cache.queue.async { self.play(stored, source: .cache) }
        case (_, .some(let stored)) where isTolerated: cache.queue.async { self.play(stored, source: .cache) }
        case (.recording(let recorder), _) where failure == nil, (.storing(let recorder, _), _) where failure == nil:
            recorder.save(deciding: host?.storingDecision) { self.end(nil, report: report) }
        default: self.end(failure, report: report)
        }
    }

    // MARK: Validation

    /// Answers with the stored response that the origin confirmed; on the cache's queue.
    private func confirm(
        _ stored: StoredResponse, _ answer: ResponseHead, _ report: TransferReport, requestTime: Date,
        responseTime: Date
    ) {
        if answer.marks.contains(.setsCookies) { host?.storeCookies(of: answer, from: request.url) }
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
}

/// Waits for the end of a validation that nobody else waits for.
private final class RefreshObserver: TransferConsumer {
    private let onEnd: @Sendable () -> Void

    init(onEnd: @escaping @Sendable () -> Void) {
        self.onEnd = onEnd
    }

    func transferDidReceive(_ head: ResponseHead) -> Flow { .undecided }
    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow { .undecided }
    func transferDidFinish(_ end: consuming TransferEnd) { onEnd() }
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
