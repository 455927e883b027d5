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
    /// What the cache is to learn of the present hop's response, where the attempt itself sees to that.
    enum Recording {
        case none
        case awaitingHead(sentAt: ResponseCache.Moment)
        case content(ResponseRecorder)
    }

    struct State {
        var owner: (any AttemptOwner)?
        var life = AttemptState()
        /// The number of the request's decision that the attempt follows.
        var intentNumber: UInt64 = 0
        /// How often somebody who takes content had room again.
        var roomCount = 0
        var control: (any TransferControl)?
        var hop: Hop
        /// What follows when the present response is left.
        var next: Hop?
        /// How the present transfer has ended, while somebody still decides about its response.
        var transferEnd: TransferEnd?
        /// Bytes of a response that came after it was left.
        var leftByteCount = 0
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

        /// Feeds an event to the table.
        ///
        /// An end takes over the cause that the transfer gave, unless there was one before.
        mutating func handle(_ event: AttemptState.Event) -> AttemptState.Effects {
            let effects = life.handle(event)
            if effects.contains(.end) { failure = failure ?? transferEnd?.failure }
            return effects
        }

        /// Notes why the attempt is to end; the first cause stays.
        mutating func fail(_ cause: TransferFailure) {
            if life.stage != .ended { failure = failure ?? cause }
        }

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

    /// Feeds an event to the table, and performs what comes out.
    ///
    /// `change` is made under the same lock, first. `withheld` is what the caller sees to itself.
    func handle(
        _ event: AttemptState.Event, withholding withheld: AttemptState.Effects = [],
        change: (inout State) -> Void = { _ in }
    ) {
        let effects = state.withLock { state in
            change(&state)
            return state.handle(event)
        }
        perform(effects.subtracting(withheld))
    }

    func perform(_ effects: AttemptState.Effects) {
        guard !effects.isEmpty else { return }
        if effects.contains(.launch) { launch() }
        if effects.contains(.stopWaiting), let number = state.withLock({ $0.waiting.take() }) {
            core.connectivity?.cancel(number)
        }
        if !effects.isDisjoint(with: [.startTransfer, .setFlow, .discard, .cancelTransfer]) { steer(effects) }
        if effects.contains(.goOn) { core.rootQueue.async { self.goOn() } }
        if effects.contains(.save) { save() }
        if effects.contains(.end) { tellOfEnd() }
    }

    private func steer(_ effects: AttemptState.Effects) {
        let (control, flow) = state.withLock { ($0.control, $0.life.holds.flow) }
        if effects.contains(.startTransfer) { control?.start(flow) }
        if effects.contains(.setFlow) { control?.setFlow(flow) }
        if effects.contains(.discard) { control?.discard() }
        if effects.contains(.cancelTransfer) { control?.cancel() }
    }

    func resume() {
        perform(state.withLock { $0.handle(.resume).union($0.handle(.start)) })
    }

    func suspend() {
        handle(.suspend)
    }

    /// Does what the request was told last.
    ///
    /// Two threads may call this in another order than the request was told: the highest number counts.
    func follow(isSuspended: Bool, number: UInt64) {
        let effects = state.withLock { state -> AttemptState.Effects in
            guard number > state.intentNumber else { return [] }
            state.intentNumber = number
            return isSuspended ? state.handle(.suspend) : state.handle(.resume).union(state.handle(.start))
        }
        perform(effects)
    }

    /// Whether the attempt was told to stand still last.
    var isSuspended: Bool { state.withLock { $0.life.holds.reasons.contains(.suspended) } }

    /// Ends the attempt, now or as soon as the transport says so; the owner is told of the end once.
    func cancel(with failure: TransferFailure = .cancelled) {
        handle(.cancel) { $0.fail(failure) }
    }

    /// Ends an attempt whose next message cannot be sent.
    func fail(with failure: TransferFailure) {
        let failure = failure.refined(for: record.url)
        handle(.fails) { $0.fail(failure) }
    }

    /// Ends an attempt that was never begun and that nobody waits for; the owner is not told.
    func abandon() {
        state.withLock { $0.owner = nil }
        cancel()
    }

    /// Lets the content of the response flow to the owner, after it answered `.wait`.
    func allow() {
        handle(.passes)
    }

    /// Lets content come again, after the owner had enough of it.
    func resumeIntake() {
        handle(.room) { $0.roomCount += 1 }
    }

    /// Offers content to somebody, and says what may move after that.
    func flow(afterOffering offer: () -> Intake) -> Flow {
        let (roomCount, flow) = state.withLock { ($0.roomCount, $0.life.holds.flow) }
        return hold(after: offer(), offeredAt: roomCount, flow)
    }

    /// - Parameter roomCount: the count before the offer. Where it has changed, there was room again before this call.
    func hold(after intake: Intake, offeredAt roomCount: Int, _ flow: Flow) -> Flow {
        guard intake == .isFull else { return flow }
        return state.withLock { state in
            // The transfer is told by the answer to its call.
            if state.roomCount == roomCount { _ = state.handle(.full) }
            return state.life.holds.flow
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
            return fail(with: .exchange(.unsupportedURL, detail: "unsupported URL", engineCode: 0))
        }
        guard kind != .webSocket || core.transport.abilities.contains(.webSockets) else {
            return fail(with: .reported(MissingAbility.webSockets))
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
                fail(with: violation)
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
        handle(.sends) { state in
            state.sentFields = fields
            state.control = control
        }
    }

    /// Sends a hop's message when there is a route for it.
    private func wait(at gate: ConnectivityGate, for url: URL) {
        state.withLock { $0.owner }?.attemptWaitsForConnectivity(self)
        // Under the lock: the answer takes the number out, and may come at once.
        handle(.waits) { state in
            guard !state.life.isCancelled else { return }
            state.waiting = gate.wait(for: url, deadlineNanoseconds: deadlineNanoseconds) { [self] isOpen in
                guard self.state.withLock({ $0.waiting.take() }) != nil else { return }
                if isOpen { return handle(.wakes) }
                fail(with: .exchange(.timedOut, detail: "no route came within the time-out", engineCode: 0))
            }
        }
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

    /// Goes on to the next hop; on the session's queue.
    private func goOn() {
        storeCookies()
        state.withLock { state in
            guard let hop = state.next.take() else { return }
            state.control = nil
            state.hop = hop
            state.source = .network
            state.recording = .none
            state.transferEnd = nil
            state.leftByteCount = 0
            state.head = nil
            state.response = nil
            state.answeredChallenge = hop.challenge
        }
        launch()
    }

    /// Stores what has come; then the attempt continues.
    private func save() {
        let recorder = state.withLock { state -> ResponseRecorder? in
            defer { state.recording = .none }
            guard case .content(let recorder) = state.recording else { return nil }
            return recorder
        }
        guard let recorder else { return handle(.saved) }
        recorder.save(deciding: storingDecision) { self.handle(.saved) }
    }

    private func tellOfEnd() {
        let (owner, failure) = state.withLock { state in
            state.control = nil
            state.recording = .none
            state.noteUnsentHop()
            return (state.owner.take(), state.failure)
        }
        owner?.attemptDidComplete(self, failure: failure)
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
