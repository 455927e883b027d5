// One try of a request: its hops from the first message to the last response.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// Carries one try of a request over the wire, following redirects, and keeps what there is to know about it.
///
/// The transport calls it on its own thread; the request controls it from any. What users see of it is `SessionTask`, which is made
/// only when someone asks.
final class Attempt: Sendable {
    /// What happens to the content of the present hop's response.
    enum Gate {
        /// It goes to the owner.
        case open
        /// The owner or a redirect handler is deciding. Content waits; so does the end, when it has come already.
        case deciding(ended: (failure: TransferFailure?, report: TransferReport)?, hasPaused: Bool)
        /// It is a redirect's and nobody reads it; the next hop follows.
        case discarding(next: Hop, byteCount: Int)
    }

    enum Phase {
        case ready, running, ended
    }

    struct State {
        var owner: (any AttemptOwner)?
        var phase = Phase.ready
        var isSuspended = false
        var control: (any TransferControl)?
        var hop: Hop
        var gate = Gate.open
        var head: ResponseHead?
        /// The fields that the present hop has sent, cookies among them.
        var sentFields: FieldBlock?
        var records: [HopRecord] = []
        /// The last challenge of the present hop that the engine has answered.
        var answeredChallenge: ResponseHead?
        /// The first cause of the end, when it is not the transport's.
        var failure: TransferFailure?
        var hasUnstoredCookies = false
        var receivedByteCount: Int64 = 0
        /// Bytes that an earlier download has left: the response brings the rest alone.
        var firstByteOffset: Int64 = 0
        var sentByteCount: Int64 = 0
        var expectedToSend: Int64?
        var response: HTTPURLResponse?
        /// The place among those who wait for a route, while there is none.
        var waiting: Int?
        weak var task: SessionTask?
        /// Where the present hop's response comes from.
        var source = HopSource.network
    }

    let identifier: Int
    let record: RequestRecord
    let core: SessionCore
    let kind: SessionTask.Kind
    let state: Mutex<State>
    let cachePolicy: URLRequest.CachePolicy
    /// The moment at which the whole attempt times out, on the transport's clock.
    private let deadlineNanoseconds: UInt64?

    /// More of a redirect's content than this is not waited for.
    private static let discardLimit = 64 * 1024

    init(record: RequestRecord, hop: consuming Hop, kind: SessionTask.Kind, core: SessionCore, owner: any AttemptOwner)
    {
        identifier = core.nextTaskIdentifier()
        self.record = record
        self.core = core
        self.kind = kind
        cachePolicy = core.settings.cachePolicy(of: hop.urlRequest)
        deadlineNanoseconds = core.settings.deadlineNanoseconds()
        state = Mutex(State(owner: owner, hop: hop))
    }

    // MARK: Control

    func resume() {
        enum Step { case nothing, launch, resume(any TransferControl) }
        let step = state.withLock { state -> Step in
            state.isSuspended = false
            switch state.phase {
            case .ready:
                state.phase = .running
                return .launch
            case .running: return state.control.map { .resume($0) } ?? .nothing
            case .ended: return .nothing
            }
        }
        switch step {
        case .nothing: break
        case .launch: launch()
        case .resume(let control): apply(isSuspended: false, to: control)
        }
    }

    func suspend() {
        let control = state.withLock { state in
            state.isSuspended = true
            return state.control
        }
        if let control { apply(isSuspended: true, to: control) }
    }

    /// Two threads may reach the transport in another order than they were here: the last one to get there looks again.
    private func apply(isSuspended: Bool, to control: any TransferControl) {
        var applied = isSuspended
        repeat {
            if applied { control.suspend() } else { control.resume() }
            let wanted = state.withLock { $0.isSuspended }
            if wanted == applied { return }
            applied = wanted
        } while true
    }

    /// Whether the attempt was told to stand still last.
    var isSuspended: Bool { state.withLock { $0.isSuspended } }

    /// Ends the attempt, now or as soon as the transport says so; the owner hears of the end once.
    func cancel(with failure: TransferFailure = .cancelled) {
        enum Step { case nothing, cancel(any TransferControl), end }
        let step = state.withLock { state -> Step in
            switch state.phase {
            case .ended: return .nothing
            case .ready:
                state.failure = state.failure ?? failure
                return .end
            case .running:
                state.failure = state.failure ?? failure
                // While someone decides about a response that has ended, no transfer is left to report the end.
                if case .deciding(.some, _) = state.gate { return .end }
                // Nor is there one while a route is waited for.
                if let number = state.waiting.take() {
                    core.connectivity?.cancel(number)
                    return .end
                }
                return state.control.map { .cancel($0) } ?? .nothing  // `launch` sees the failure
            }
        }
        switch step {
        case .nothing: break
        case .cancel(let control): control.cancel()
        case .end: end(with: failure)
        }
    }

    /// Ends an attempt that was never begun and that nobody waits for; the owner hears nothing.
    func abandon() {
        state.withLock { state in
            state.phase = .ended
            state.failure = state.failure ?? .cancelled
            state.owner = nil
        }
    }

    /// Lets the content of the response flow to the owner, after it answered `.wait`.
    func allow() {
        let step = state.withLock { state -> AfterDecision in
            guard case .deciding(let ended, let hasPaused) = state.gate else { return .nothing }
            state.gate = .open
            if let ended { return .end(ended.failure) }
            return hasPaused ? .resumeIntake(state.control) : .nothing
        }
        perform(step)
    }

    /// Offers bytes again that the owner had refused.
    func resumeIntake() {
        state.withLock { $0.control }?.resumeIntake()
    }

    // MARK: Hops

    /// Sends the present hop's message, unless the attempt was cancelled meanwhile; waits for a route where that is wanted.
    private func launch() {
        var hop = state.withLock { $0.hop }
        if let store = core.strictTransportSecurity { hop = secured(hop, by: store) }
        if let gate = core.connectivity, gate.isClosed(for: hop.url) { return wait(at: gate, for: hop.url) }
        var urlText = hop.url.absoluteString
        if core.credentials.concerns(hop, urlText: urlText) {
            hop = core.credentials.completing(hop)
            urlText = hop.url.absoluteString
            state.withLock { [hop] in $0.hop = hop }
        }
        let fields = core.cookies.addingCookies(
            for: hop, settings: core.settings, isWanted: record.existing?.httpShouldHandleCookies ?? true)
        let message = RequestMessage(
            url: urlText, method: hop.method, fields: fields, body: hop.body,
            idleTimeout: core.settings.idleTimeout(of: record), deadlineNanoseconds: deadlineNanoseconds,
            credentials: hop.credentials, webSocket: hop.webSocket)
        let isUncached = core.cache == nil && cachePolicy == .useProtocolCachePolicy || hop.webSocket != nil
        let control =
            isUncached ? core.transport.makeTransfer(of: message, for: self) : makeCachedTransfer(of: message, for: hop)
        let permission = state.withLock { state -> (starts: Bool, isSuspended: Bool) in
            guard state.phase == .running, state.failure == nil else { return (false, false) }
            state.sentFields = fields
            state.control = control
            return (true, state.isSuspended)
        }
        guard permission.starts else { return end(with: .cancelled) }
        if permission.isSuspended { apply(isSuspended: true, to: control) }
        control.start()
    }

    /// Sends a hop's message when there is a route for it.
    private func wait(at gate: ConnectivityGate, for url: URL) {
        state.withLock { $0.owner }?.attemptWaitsForConnectivity(self)
        // Under the lock: the answer takes the number out, and may come at once.
        let isCancelled = state.withLock { state in
            guard state.phase == .running, state.failure == nil else { return true }
            state.waiting = gate.wait(for: url, deadlineNanoseconds: deadlineNanoseconds) { [self] isOpen in
                guard self.state.withLock({ $0.waiting.take() }) != nil else { return }
                if isOpen { return launch() }
                end(with: .exchange(.timedOut, detail: "no route came within the time-out", engineCode: 0))
            }
            return false
        }
        if isCancelled { end(with: .cancelled) }
    }

    /// The hop over TLS, where its host has asked for that.
    private func secured(_ hop: Hop, by store: StrictTransportSecurity) -> Hop {
        let url = store.secured(hop.url)
        guard url != hop.url else { return hop }
        var secured = hop
        secured.url = url
        secured.urlRequest?.url = url
        state.withLock { $0.hop = secured }
        return secured
    }

    /// Goes on to the next hop; on the session's queue, since cookies may have to be written and read.
    private func begin(_ hop: Hop) {
        core.rootQueue.async { [self] in
            storeCookies()
            state.withLock { state in
                state.control = nil
                state.hop = hop
                state.source = .network
                state.gate = .open
                state.head = nil
                state.response = nil
                state.answeredChallenge = nil
            }
            launch()
        }
    }

    private func end(with failure: TransferFailure?) {
        let failure = failure?.refined(for: record.url)
        let ending = state.withLock { state -> (owner: (any AttemptOwner)?, failure: TransferFailure?) in
            guard state.phase != .ended else { return (nil, nil) }
            state.phase = .ended
            state.control = nil
            let owner = state.owner
            state.owner = nil
            state.failure = state.failure ?? failure
            return (owner, state.failure)
        }
        ending.owner?.attemptDidComplete(self, failure: ending.failure)
    }

    private enum AfterDecision {
        case nothing
        case resumeIntake((any TransferControl)?)
        case begin(Hop)
        case end(TransferFailure?)
    }

    private func perform(_ step: AfterDecision) {
        switch step {
        case .nothing: break
        case .resumeIntake(let control): control?.resumeIntake()
        case .begin(let hop): begin(hop)
        case .end(let failure): end(with: failure)
        }
    }

    /// Stores what cookies the present response set, unless that was done.
    ///
    /// Not on the transport's thread: it may write a file.
    func storeCookies() {
        let cookies = state.withLock { state -> (head: ResponseHead, url: URL)? in
            guard state.hasUnstoredCookies, let head = state.head else { return nil }
            state.hasUnstoredCookies = false
            return (head, state.hop.url)
        }
        guard let cookies else { return }
        core.cookies.store(cookies.head, for: cookies.url, settings: core.settings, of: record)
    }
}

// MARK: - The transport's side

extension Attempt: TransferConsumer {
    func transferDidReceive(_ head: ResponseHead) {
        core.strictTransportSecurity?.note(head, from: state.withLock { $0.hop.url })
        let setsCookies = core.settings.storesCookies && head.contains("Set-Cookie")
        let (owner, hasAnswered) = state.withLock { state in
            state.head = head
            // A stored response has set its cookies when it came.
            state.hasUnstoredCookies = setsCookies && state.source.isNetwork
            return (state.owner, state.answeredChallenge != nil)
        }
        guard let owner else { return }
        if hasAnswered { rememberCredential(acceptedWith: head) }
        if head.status == 401 || head.status == 407 { owner.attempt(self, didReceiveChallenge: head) }
        if head.status == 401, let next = hop(answering: head) {
            state.withLock { $0.gate = .discarding(next: next, byteCount: 0) }
        } else if (300..<400).contains(head.status), let decision = redirect(after: head, owner) {
            decide(decision, by: owner.effectiveRedirectHandler, response: head)
        } else if owner.wantsHead {
            tell(owner, head)
        }
    }

    private func tell(_ owner: any AttemptOwner, _ head: ResponseHead) {
        // Closed first: the owner's decision may come before this method goes on.
        state.withLock { $0.gate = .deciding(ended: nil, hasPaused: false) }
        switch owner.attempt(self, didReceive: head) {
        case .proceed: allow()
        case .wait: break
        case .again(let unwanted): repeatHop(without: unwanted)
        }
    }

    /// Sends the present hop again, without some of its fields; what comes of this response is thrown away.
    private func repeatHop(without unwanted: [String]) {
        state.withLock { state in
            guard case .deciding = state.gate else { return }
            var next = state.hop
            let unwanted = Set(unwanted.map { $0.lowercased() })
            next.fields = FieldBlock(next.fields.fields.filter { !unwanted.contains($0.name.lowercased()) })
            next.urlRequest = nil
            state.gate = .discarding(next: next, byteCount: 0)
        }
    }

    /// The response brings the bytes from `offset` on; those in front of them are counted as received.
    func startCounting(at offset: Int64) {
        state.withLock { $0.firstByteOffset = offset }
    }

    func transferDidReceive(_ bytes: UnsafeRawBufferPointer) -> Intake {
        enum Step { case deliver((any AttemptOwner)?), answer(Intake), cut(any TransferControl) }
        let step = state.withLock { state -> Step in
            switch state.gate {
            case .open:
                state.receivedByteCount += Int64(bytes.count)
                return .deliver(state.owner)
            case .deciding(let ended, _):
                state.gate = .deciding(ended: ended, hasPaused: true)
                return .answer(.pause)
            case .discarding(let next, let count):
                state.gate = .discarding(next: next, byteCount: count + bytes.count)
                guard count + bytes.count > Self.discardLimit, let control = state.control else {
                    return .answer(.taken)
                }
                return .cut(control)
            }
        }
        switch step {
        case .answer(let intake): return intake
        case .cut(let control):
            control.cancel()
            return .taken
        case .deliver(let owner):
            let intake = owner?.attempt(self, didReceive: bytes) ?? .taken
            if intake == .pause { state.withLock { $0.receivedByteCount -= Int64(bytes.count) } }
            return intake
        }
    }

    func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?) {
        let owner = state.withLock { state in
            state.sentByteCount = total
            state.expectedToSend = expected
            return state.owner
        }
        owner?.attempt(self, didSend: byteCount, total: total, expected: expected)
    }

    func transferDidFinish(_ failure: TransferFailure?, report: TransferReport) {
        let step = state.withLock { state -> AfterDecision in
            state.records.append(
                HopRecord(
                    url: state.hop.url, method: state.hop.method, fields: state.sentFields ?? state.hop.fields,
                    head: state.head, report: report, source: state.source))
            switch state.gate {
            case .open:
                if let failure, failure.isOffline, mayWait(state) { return .begin(state.hop) }
                return .end(failure)
            case .deciding(_, let hasPaused):
                if state.failure != nil { return .end(failure) }
                state.gate = .deciding(ended: (failure, report), hasPaused: hasPaused)
                return .nothing
            case .discarding(let next, _):
                // Whatever happened to the rest of a redirect's content: what it says is known.
                return state.failure == nil ? .begin(next) : .end(failure)
            }
        }
        perform(step)
    }
}

extension Attempt {
    /// True when a hop that found no route can be sent anew once there is one: nothing of it was used up.
    private func mayWait(_ state: borrowing State) -> Bool {
        guard let gate = core.connectivity, state.failure == nil, state.head == nil else { return false }
        if case .reader = state.hop.body { return false }
        return gate.isClosed(for: state.hop.url)
    }
}

// MARK: - Redirects

extension Attempt {
    /// What RFC 9110 §15.4 says about this response, or `nil` when it is no redirect.
    private func redirect(
        after head: ResponseHead, _ owner: any AttemptOwner
    ) -> Result<Hop, TransferFailure>? {
        let (hop, count) = state.withLock { ($0.hop, $0.records.count(where: \.isRedirect)) }
        let limit = owner.effectiveRedirectHandler?.maximumRedirectCount ?? core.settings.maximumRedirectCount
        return Redirection.next(after: hop, head: head, redirectCount: count, limit: limit)
    }

    private func decide(
        _ decision: Result<Hop, TransferFailure>, by handler: (any RedirectHandler)?, response: ResponseHead
    ) {
        switch decision {
        case .failure(let failure): cancel(with: failure)
        case .success(let next):
            state.withLock { $0.owner }?.attempt(self, willRedirectTo: next)
            guard let handler else {
                state.withLock { $0.gate = .discarding(next: next, byteCount: 0) }
                return
            }
            state.withLock { $0.gate = .deciding(ended: nil, hasPaused: false) }
            core.rootQueue.async { [self] in
                guard let response = httpURLResponse else { return cancel() }
                let proposed = Redirection.urlRequest(of: next)
                handler.task(sessionTask, willBeRedirectedTo: proposed, for: response) { [self] request in
                    settleRedirect(request, proposed: proposed, next: next)
                }
            }
        }
    }

    private func settleRedirect(_ request: URLRequest?, proposed: URLRequest, next: Hop) {
        guard let request else {
            let (owner, head) = state.withLock { ($0.owner, $0.head) }
            guard let owner, let head, owner.wantsHead else { return allow() }
            // A redirect that is not followed is an answer of another kind: nobody asks for it again.
            if case .wait = owner.attempt(self, didReceive: head) { return }
            return allow()
        }
        let chosen: Hop
        do {
            // Equality of requests leaves the fields out on Linux.
            let isSame = request == proposed && request.allHTTPHeaderFields == proposed.allHTTPHeaderFields
            chosen = isSame ? next : try Redirection.hop(for: request, replacing: next, settings: core.settings)
        } catch {
            return cancel(with: .exchange(.badURL, detail: "the redirect handler's request has no URL", engineCode: 0))
        }
        let step = state.withLock { state -> AfterDecision in
            guard case .deciding(let ended, let hasPaused) = state.gate else { return .nothing }
            if ended != nil { return .begin(chosen) }
            state.gate = .discarding(next: chosen, byteCount: 0)
            return hasPaused ? .resumeIntake(state.control) : .nothing
        }
        perform(step)
    }
}
