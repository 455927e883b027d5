// A hop that the cache has a say in: it stands between an attempt and the transport.

import Dispatch
import FireweedTransport
import Foundation
import Synchronization

/// Answers a hop from the cache, or lets it go to the network and stores what comes back.
///
/// An exchange is made where a look is needed; where certainly nothing is stored, the attempt itself records the
/// response. To the attempt the exchange is a transfer, to the transport a consumer. Looks happen on the cache's queue,
/// from which stored responses are delivered as well.
final class CachedExchange: Sendable {
    /// How far the exchange is.
    enum Phase {
        case ready
        /// On the cache's queue.
        case looking
        case network(any TransferControl)
        /// The network has answered, and somebody decides whether that is stored.
        case saving(TransferReport)
        case playing(StoredPlayback)
        case ended
    }

    /// What is done with the answer of the network.
    enum Incoming {
        /// It is the attempt's.
        case passing
        /// It is the attempt's, and goes to the store when it is whole.
        case recording(ResponseRecorder)
        /// The attempt does not want the rest, and it goes to the store when it is whole; so many bytes of the rest have come.
        case storing(ResponseRecorder, byteCount: Int)
        /// Nobody wants the rest.
        case dropped
        /// A 304: the stored response is the answer.
        case validated(ResponseHead, at: Date)
        /// An error, instead of which the stored response is the answer.
        case discarding

        var isToBeStored: Bool {
            switch self {
            case .recording, .storing: true
            case .passing, .dropped, .validated, .discarding: false
            }
        }
    }

    struct State {
        var phase = Phase.ready
        var incoming = Incoming.passing
        var consumer: (any TransferConsumer)?
        var isCancelled = false
        /// What may move: the latest of the decisions that have come.
        var flow = Flow.undecided
        /// The stored response that the origin was asked about.
        var stored: StoredResponse?
        var toleratesError = false
        var hasHead = false
        /// When the network was asked.
        var moment = ResponseCache.Moment.past
    }

    let cache: ResponseCache
    let request: CacheRequest
    let message: RequestMessage
    let transport: any Transport
    let host: (any CacheHost)?
    let state: Mutex<State>
    /// When the exchange was made, in nanoseconds since 1970.
    private let startNanoseconds = StoredPlayback.nanoseconds

    init(
        _ request: CacheRequest, message: RequestMessage, cache: ResponseCache, transport: any Transport,
        consumer: any TransferConsumer, host: (any CacheHost)?
    ) {
        self.request = request
        self.message = message
        self.cache = cache
        self.transport = transport
        self.host = host
        var state = State()
        state.consumer = consumer
        self.state = Mutex(state)
    }

    // MARK: The way to an answer

    /// On the cache's queue: looks, and does what the rules say.
    private func look() {
        let (decision, stored) = cache.decide(request)
        switch decision {
        case .answer(_, let refreshes):
            guard let stored else { return ask(nil) }
            if refreshes { refresh(stored) }
            play(stored, source: .cache)
        case .validate(_, let toleratesError): ask(stored, toleratesError: toleratesError)
        case .fetch: ask(nil)
        case .gatewayTimeout: play(.gatewayTimeout(at: cache.now()), source: .notSent, isAged: false)
        case .fail:
            host?.cacheWillAnswer(.notSent)
            end(.exchange(.resourceUnavailable, detail: "nothing is stored for this request", engineCode: 0))
        }
    }

    /// Sends the message, with the conditions that ask about a stored response if there is one.
    func ask(_ stored: StoredResponse?, toleratesError: Bool = false) {
        var message = message
        if let stored { message.fields = Validation.fields(message.fields, asking: stored.head) }
        let control = transport.makeTransfer(of: message, for: self)
        let moment = cache.moment
        let flow = state.withLock { state -> Flow? in
            if case .ended = state.phase { return nil }
            guard !state.isCancelled else { return nil }
            state.phase = .network(control)
            state.incoming = .passing
            state.stored = stored
            state.toleratesError = toleratesError
            state.hasHead = false
            state.moment = moment
            return state.flow
        }
        guard let flow else { return end(.cancelled) }
        control.start(flow)
    }

    /// Answers with a stored response; on the cache's queue.
    func play(_ stored: StoredResponse, source: HopSource, isAged: Bool = true) {
        var head = stored.head.response
        if isAged {  // it says how old it is (RFC 9111 §4, §5.1)
            head = head.setting("Age", to: "\(Int(Freshness.age(of: stored.head, at: cache.now())))")
        }
        let content = request.method == "HEAD" ? Data() : stored.content
        let playback = StoredPlayback(head, content: content, startNanoseconds: StoredPlayback.nanoseconds)
        let plays = state.withLock { state in
            if case .ended = state.phase { return false }
            state.phase = .playing(playback)
            return !state.isCancelled
        }
        guard plays else { return end(.cancelled) }
        host?.cacheWillAnswer(source)
        goOn()
    }

    /// Delivers until there is no more, or somebody stops it; on the cache's queue.
    private func goOn() {
        while true {
            let next = state.withLock { state -> (StoredPlayback, any TransferConsumer)? in
                guard case .playing(let playback) = state.phase, let consumer = state.consumer,
                    state.flow.level == .running, !state.isCancelled
                else { return nil }
                return (playback, consumer)
            }
            guard let (present, consumer) = next else { return }
            var playback = present
            guard let flow = playback.step(to: consumer) else { return end(nil, report: playback.report) }
            state.withLock { [playback] state in
                if case .playing = state.phase { state.phase = .playing(playback) }
                _ = state.flow.follow(flow)
            }
        }
    }

    /// Tells the attempt of the end; the first call counts.
    ///
    /// - Parameter report: what the network took; `nil` when nothing was sent.
    func end(_ failure: TransferFailure?, report: TransferReport? = nil) {
        let consumer = state.withLock { state in
            state.phase = .ended
            state.stored = nil
            state.incoming = .passing
            defer { state.consumer = nil }
            return state.consumer
        }
        consumer?.transferDidFinish(TransferEnd(failure, report: report ?? .local(since: startNanoseconds)))
    }
}

// MARK: - The attempt's side

extension CachedExchange: TransferControl {
    func start(_ flow: Flow) {
        enum Step { case nothing, look, ask, cancelled }
        let mustLook = cache.needsLook(request) || !request.mayAsk
        let step = state.withLock { state -> Step in
            guard case .ready = state.phase else { return .nothing }
            _ = state.flow.follow(flow)
            if state.isCancelled { return .cancelled }
            state.phase = .looking
            return mustLook ? .look : .ask
        }
        switch step {
        case .nothing: break
        case .look: cache.queue.async { self.look() }
        case .ask: ask(nil)
        case .cancelled: cache.queue.async { self.end(.cancelled) }
        }
    }

    func cancel() {
        enum Step { case nothing, cancel(any TransferControl), end(TransferReport?) }
        let step = state.withLock { state -> Step in
            state.isCancelled = true
            switch state.phase {
            case .network(let control): return .cancel(control)
            case .saving(let report): return .end(report)
            case .playing: return .end(nil)
            case .ready, .looking, .ended: return .nothing  // whoever goes on sees it
            }
        }
        switch step {
        case .nothing: break
        case .cancel(let control): control.cancel()
        case .end(let report): cache.queue.async { self.end(.cancelled, report: report) }
        }
    }

    func discard() {
        enum Step { case nothing, end, cancel, discard(any TransferControl) }
        let step = state.withLock { state -> Step in
            switch state.phase {
            case .network(let control):
                guard case .recording(let recorder) = state.incoming else { return .discard(control) }
                state.incoming = .storing(recorder, byteCount: 0)
                return .nothing
            case .playing: return .end
            case .ready, .looking: return .cancel
            case .saving, .ended: return .nothing
            }
        }
        switch step {
        case .nothing: break
        case .end: cache.queue.async { self.end(nil) }
        case .cancel: cancel()
        case .discard(let control): control.discard()
        }
    }

    func setFlow(_ flow: Flow) {
        enum Step { case nothing, goOn, tell(any TransferControl) }
        let step = state.withLock { state -> Step in
            _ = state.flow.follow(flow)
            switch state.phase {
            case .network(let control): return .tell(control)
            case .playing: return .goOn
            case .ready, .looking, .saving, .ended: return .nothing  // whoever continues sees it
            }
        }
        switch step {
        case .nothing: break
        case .goOn: cache.queue.async { self.goOn() }
        case .tell(let control): control.setFlow(flow)
        }
    }
}

extension StoredResponse {
    /// The answer to `only-if-cached` when nothing suitable is stored (RFC 9111 §5.2.1.7).
    static func gatewayTimeout(at time: Date) -> StoredResponse {
        let fields = [Field(name: "Date", value: HTTPDate.text(of: time)), Field(name: "Content-Length", value: "0")]
        return StoredResponse(
            head: StoredHead(
                identifier: 0, response: ResponseHead(status: 504, fields: fields), requestTime: time,
                responseTime: time, originDate: time,
                variant: ResponseVariant(names: [], selection: Data(), credentials: nil),
                userInfo: nil), content: Data())
    }
}

extension CacheRequest {
    /// False when only a stored response will do.
    var mayAsk: Bool { policy != .returnCacheDataDontLoad && !(facts.control.onlyIfCached && isAnswerable) }
}
