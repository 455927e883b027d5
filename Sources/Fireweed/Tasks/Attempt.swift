// One try of a request: its hops from the first message to the last response.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// Carries one try of a request over the wire, following redirects, and keeps what there is to know about it.
///
/// The transport calls it on its own thread; the request controls it from any. What users see of it is `URLSessionTask`, which is made
/// only when someone asks.
final class Attempt: Sendable {
    /// What happens to the content of the present hop's response.
    enum Gate {
        /// It goes to the owner.
        case open
        /// The owner or a redirect handler is deciding. Content waits; so does the end, when it has come already.
        case deciding(end: TransferEnd?)
        /// It is not wanted; the next hop follows.
        case discarding(next: Hop)
    }

    enum Phase {
        case ready, running, ended
    }

    /// What the cache is to learn of the present hop's response, where the attempt itself sees to that.
    enum Recording {
        case none
        case awaitingHead(sentAt: ResponseCache.Moment)
        case content(ResponseRecorder)
    }

    struct State {
        var owner: (any AttemptOwner)?
        var phase = Phase.ready
        var holds = TransferHolds()
        /// How often somebody who takes content had room again.
        var roomCount = 0
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
        /// What is entered while cookies of the attempt's responses are on their way into the storage; `nil` before
        /// there were any.
        var cookieWrites: DispatchGroup?
        var receivedByteCount: Int64 = 0
        /// Bytes that an earlier download has left: the response brings the rest alone.
        var firstByteOffset: Int64 = 0
        var sentByteCount: Int64 = 0
        var expectedToSend: Int64?
        var response: HTTPURLResponse?
        /// The place among those who wait for a route, while there is none.
        var waiting: Int?
        weak var task: URLSessionTask?
        var taskSettings: TaskSettings?
        /// What a task's `progress` gave, once somebody has asked for it.
        var progress: Progress?
        /// Where the present hop's response comes from.
        var source = HopSource.network
        var recording = Recording.none
        /// What the task shows while a `URLProtocol` class is asked about it, or made for it.
        var protocolOffer: ProtocolOffer?

        /// Notes what a try of the present hop took.
        mutating func note(_ report: TransferReport) {
            var report = report
            // What ended before it came to a transport has no time of its own.
            if report.startNanoseconds == 0 { report.startNanoseconds = Int64(Date().timeIntervalSince1970 * 1e9) }
            records.append(
                HopRecord(
                    url: hop.url, method: hop.method, fields: sentFields ?? hop.fields, head: head, report: report,
                    source: source))
        }

        /// Gives an attempt that ended before it sent anything a transaction, so that it has metrics as every other one.
        mutating func noteUnsentHop() {
            guard records.isEmpty else { return }
            var report = TransferReport()
            report.startNanoseconds = Int64(Date().timeIntervalSince1970 * 1e9)
            records.append(HopRecord(url: hop.url, method: hop.method, fields: hop.fields, head: nil, report: report))
        }
    }

    let identifier: Int
    let record: RequestRecord
    let core: SessionCore
    let kind: TaskKind
    let state: Mutex<State>
    let cachePolicy: URLRequest.CachePolicy
    let gathersContent: Bool
    /// The moment at which the whole attempt times out, on the transport's clock.
    let deadlineNanoseconds: UInt64?

    init(record: RequestRecord, hop: consuming Hop, kind: TaskKind, core: SessionCore, owner: any AttemptOwner) {
        identifier = core.nextTaskIdentifier()
        self.record = record
        self.core = core
        self.kind = kind
        gathersContent = owner.gathersContent
        cachePolicy = core.settings.cachePolicy(of: hop.urlRequest)
        deadlineNanoseconds = core.settings.deadlineNanoseconds()
        state = Mutex(State(owner: owner, hop: hop))
    }

    // MARK: Control

    func resume() {
        let launches = state.withLock { state in
            state.holds.remove(.suspended)
            guard state.phase == .ready else { return false }
            state.phase = .running
            return true
        }
        if launches { launch() } else { applyHolds() }
    }

    func suspend() {
        state.withLock { $0.holds.insert(.suspended) }
        applyHolds()
    }

    /// Tells the present transfer what may move.
    func applyHolds() {
        let (control, flow) = state.withLock { ($0.control, $0.holds.flow) }
        control?.setFlow(flow)
    }

    /// Whether the attempt was told to stand still last.
    var isSuspended: Bool { state.withLock { $0.holds.reasons.contains(.suspended) } }

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
                if case .deciding(.some) = state.gate { return .end }
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
            state.noteUnsentHop()
            state.owner = nil
        }
    }

    /// Lets the content of the response flow to the owner, after it answered `.wait`.
    func allow() {
        perform(takeAllowance())
    }

    /// Opens the gate, and says what that causes.
    func takeAllowance() -> AfterDecision {
        state.withLock { state in
            guard case .deciding(let end) = state.gate else { return .nothing }
            state.gate = .open
            state.holds.remove(.deciding)
            if let end { return .end(end.failure) }
            return .applyHolds
        }
    }

    /// Lets content come again, after the owner had enough of it.
    func resumeIntake() {
        state.withLock { state in
            state.roomCount += 1
            state.holds.remove(.full)
        }
        applyHolds()
    }

    /// Offers content to somebody, and says what may move after that.
    func flow(afterOffering offer: () -> Intake) -> Flow {
        let (roomCount, flow) = state.withLock { ($0.roomCount, $0.holds.flow) }
        return hold(after: offer(), offeredAt: roomCount, flow)
    }

    /// - Parameter roomCount: the count before the offer. Where it has changed, there was room again before this call.
    func hold(after intake: Intake, offeredAt roomCount: Int, _ flow: Flow) -> Flow {
        guard intake == .isFull else { return flow }
        return state.withLock { state in
            if state.roomCount == roomCount { state.holds.insert(.full) }
            return state.holds.flow
        }
    }

    // MARK: Hops

    /// Performs the present hop, unless the attempt was cancelled meanwhile: by a `URLProtocol` that takes it, or over the network.
    func launch() {
        if let store = core.strictTransportSecurity { secure(by: store) }
        guard let classes = core.protocolClasses, kind != .webSocket else { return launchOverNetwork() }
        offer(to: classes)
    }

    /// Sends the present hop's message, unless the attempt was cancelled meanwhile; waits for a route where that is wanted.
    func launchOverNetwork() {
        let url = state.withLock { $0.hop.url }
        // Here, and not while the request is made: an adapter may complete the URL, and a `URLProtocol` may know its scheme.
        guard RequestRecord.schemes.contains(where: url.hasScheme) else {
            return end(with: .exchange(.unsupportedURL, detail: "unsupported URL", engineCode: 0))
        }
        if let gate = core.connectivity, gate.isClosed(for: url) { return wait(at: gate, for: url) }
        guard let (hop, urlText, prepared) = prepareHop() else { return }
        let isUncached = core.cache == nil && cachePolicy == .useProtocolCachePolicy || hop.webSocket != nil
        let fields = isUncached ? prepared : Self.fields(prepared, telling: cachePolicy)
        var message = RequestMessage(
            url: urlText, method: hop.method, fields: fields, body: hop.body,
            idleTimeout: core.settings.idleTimeout(of: record), deadlineNanoseconds: deadlineNanoseconds,
            credentials: hop.transportCredentials, webSocket: hop.webSocket)
        message.tellsOfLulls = gathersContent
        start(
            isUncached
                ? core.transport.makeTransfer(of: message, for: self) : makeCachedTransfer(of: message, for: hop),
            sending: fields)
    }

    /// The present hop with the credentials that its URL or a file has for it, and the fields to send, cookies among them; `nil` when
    /// the hop cannot be sent, which ends the attempt.
    func prepareHop() -> (hop: Hop, urlText: String, fields: FieldBlock)? {
        var hop = state.withLock { $0.hop }
        var urlText = hop.url.absoluteString
        if core.credentials.concerns(hop, urlText: urlText) {
            if let violation = core.credentials.violation(in: hop) {
                end(with: violation)
                return nil
            }
            hop = core.credentials.completing(hop)
            urlText = hop.url.absoluteString
            state.withLock { [hop] in $0.hop = hop }
        }
        let cookieFields = core.cookies.addingCookies(
            for: hop, urlText: urlText, settings: core.settings,
            isWanted: record.existing?.httpShouldHandleCookies ?? true)
        return (hop, urlText, hop.authorizing(cookieFields))
    }

    /// Starts the transfer of the present hop, unless the attempt was cancelled meanwhile.
    func start(_ control: any TransferControl, sending fields: FieldBlock) {
        let flow = state.withLock { state -> Flow? in
            guard state.phase == .running, state.failure == nil else { return nil }
            state.sentFields = fields
            state.control = control
            return state.holds.flow
        }
        guard let flow else { return end(with: .cancelled) }
        control.start(flow)
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

    /// Takes the hop over TLS, where its host has asked for that.
    private func secure(by store: StrictTransportSecurity) {
        let hop = state.withLock { $0.hop }
        let url = store.secured(hop.url)
        guard url != hop.url else { return }
        state.withLock { state in
            state.hop.url = url
            state.hop.urlRequest?.url = url
        }
    }

    /// Goes on to the next hop, on the session's queue.
    func begin(_ hop: Hop) {
        core.rootQueue.async { [self] in
            storeCookies()
            state.withLock { state in
                state.control = nil
                state.hop = hop
                state.source = .network
                state.recording = .none
                state.gate = .open
                state.holds.remove([.deciding, .full])
                state.head = nil
                state.response = nil
                state.answeredChallenge = hop.challenge
            }
            launch()
        }
    }

    func end(with failure: TransferFailure?) {
        let failure = failure?.refined(for: record.url)
        let ending = state.withLock { state -> (owner: (any AttemptOwner)?, failure: TransferFailure?) in
            guard state.phase != .ended else { return (nil, nil) }
            state.phase = .ended
            state.control = nil
            state.recording = .none
            let owner = state.owner
            state.owner = nil
            state.failure = state.failure ?? failure
            state.noteUnsentHop()
            return (owner, state.failure)
        }
        ending.owner?.attemptDidComplete(self, failure: ending.failure)
    }

    enum AfterDecision {
        case nothing
        case applyHolds
        case discard((any TransferControl)?)
        case begin(Hop)
        case end(TransferFailure?)
    }

    func perform(_ step: AfterDecision) {
        switch step {
        case .nothing: break
        case .applyHolds: applyHolds()
        case .discard(let control): control?.discard()
        case .begin(let hop): begin(hop)
        case .end(let failure): end(with: failure)
        }
    }

    /// Stores what cookies the present response set, unless that was done; requests that begin after the call carry
    /// them.
    func storeCookies() {
        let cookies = state.withLock { state -> (head: ResponseHead, url: URL)? in
            guard state.hasUnstoredCookies, let head = state.head else { return nil }
            state.hasUnstoredCookies = false
            return (head, state.hop.url)
        }
        guard let cookies else { return }
        store(cookies.head, for: cookies.url)
    }

    func store(_ head: ResponseHead, for url: URL) {
        let writes = state.withLock { state in
            let writes = state.cookieWrites ?? DispatchGroup()
            state.cookieWrites = writes
            return writes
        }
        writes.enter()
        core.cookies.store(head, for: url, settings: core.settings, of: record) { writes.leave() }
    }

    /// Calls `body` when the cookies of the attempt's responses are in the storage: at once when there were none, else
    /// on `queue`.
    func afterCookiesAreStored(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
        storeCookies()
        // Without waiting: most cookies are in the storage already.
        guard let writes = state.withLock({ $0.cookieWrites }), writes.wait(timeout: .now()) == .timedOut else {
            return body()
        }
        writes.notify(queue: queue, execute: body)
    }
}
