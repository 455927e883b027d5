// One try of a request: its messages from the first message to the last response.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// One try of a request: sends its messages, follows redirects, and keeps the results.
///
/// The transport calls an attempt on the transport's thread; the request controls it from any thread. Users see an
/// attempt as a `URLSessionTask`, which is made at the first access.
final class Attempt: Sendable {
    let identifier: Int
    let record: RequestRecord
    let core: SessionCore
    let kind: TaskKind
    let state: Mutex<State>
    let cachePolicy: URLRequest.CachePolicy
    let gathersContent: Bool
    /// The chain, outermost link first.
    let links: LinkChain
    /// The time at which the attempt was made, on the transport's monotonic clock.
    let startNanoseconds: UInt64
    /// The moment at which the whole attempt times out, on the transport's clock.
    let deadlineNanoseconds: UInt64?
    /// The priority, deadline and other demands that go with each message.
    let demands: RequestDemands
    /// The identity of the attempt's request, kept after the attempt's end; `nil` for a validation of a stored
    /// response.
    let requestIdentity: ObjectIdentifier?

    init(record: RequestRecord, message: consuming OutgoingMessage, kind: TaskKind, core: SessionCore, owner: Owner) {
        identifier = core.nextTaskIdentifier()
        self.record = record
        self.core = core
        self.kind = kind
        let request = owner.request
        gathersContent = request?.parts.receiver.coalescesContent ?? false
        let own = request.map { $0.parts.receiver.links(for: $0) } ?? []
        links = core.links.behind(own)
        cachePolicy = core.settings.cachePolicy(of: message.urlRequest)
        startNanoseconds = core.clock.monotonicNanoseconds
        deadlineNanoseconds = core.settings.deadlineNanoseconds(after: startNanoseconds)
        requestIdentity = request.map { ObjectIdentifier($0) }
        demands = request?.demands ?? RequestDemands()
        state = Mutex(State(owner: owner, context: ChainContext(message)))
    }

    // MARK: Control

    /// Feeds an event to the table, and performs the effects.
    ///
    /// `change` runs first, under the same lock. The caller takes care of the effects in `withheld`.
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
        if effects.contains(.stopWaiting), let pending = state.withLock({ $0.takePending() }) { pending.stop?() }
        if !effects.isDisjoint(with: [.startTransfer, .setFlow, .discard, .cancelTransfer]) { steer(effects) }
        if effects.contains(.proceed) { core.arguments.rootQueue.async { self.proceed() } }
        if effects.contains(.save) { save() }
        if effects.contains(.end) { notifyOfEnd() }
    }

    private func steer(_ effects: AttemptState.Effects) {
        let (control, holds) = state.withLock { ($0.control, $0.life.holds) }
        if effects.contains(.startTransfer) { control?.start(holds.flow) }
        if effects.contains(.setFlow) { control?.setFlow(holds.flow) }
        if holds.reasons.contains(.suspended) { handOver() }
        if effects.contains(.discard) { control?.discard() }
        if effects.contains(.cancelTransfer) { control?.cancel() }
    }

    func resume() {
        perform(state.withLock { $0.handle(.resume).union($0.handle(.start)) })
    }

    func suspend() {
        handle(.suspend)
    }

    /// Suspends or resumes the attempt, following the request's last call of `suspend()` or `resume()`.
    ///
    /// Two threads may call this out of order: the highest number wins.
    func follow(isSuspended: Bool, number: UInt64) {
        perform(state.withLock { $0.follow(isSuspended: isSuspended, number: number) })
    }

    /// Whether the attempt is suspended: its request's last call was `suspend()`, not `resume()`.
    var isSuspended: Bool { state.withLock { $0.life.holds.reasons.contains(.suspended) } }

    /// Ends the attempt, immediately or once the transport has ended the transfer; the owner is notified once.
    func cancel(with failure: TransferFailure = .cancelled) {
        handle(.cancel) { $0.fail(failure) }
    }

    /// Ends an attempt whose next message cannot be sent.
    func fail(with failure: TransferFailure) {
        let failure = failure.refined(for: record.url)
        handle(.fails) { $0.fail(failure) }
    }

    /// Ends an attempt whose request ended before the attempt could begin; the owner is not notified.
    func abandon() {
        state.withLock { $0.removeOwner() }
        cancel()
    }

    /// Whether a message of the attempt left for the network; known once the attempt has ended.
    var hasSent: Bool { state.withLock { $0.records.contains(where: \.wasSent) } }

    /// How many messages of the attempt left for the network; known once the attempt has ended.
    var sentMessageCount: Int { state.withLock { $0.records.count(where: \.wasSent) } }

    /// Lets the content of the response flow to the owner, after the owner answered `.wait`.
    func allow() {
        handle(.passes)
    }

    /// Continues the flow of content, once the owner's buffer has room.
    func resumeIntake() {
        handle(.room) { $0.noteRoom() }
    }

    /// Offers content to the owner, and returns the flow of the transfer after that.
    func flow(afterOffering offer: () -> Demand) -> Flow {
        let (roomCount, flow) = state.withLock { ($0.roomCount, $0.life.holds.flow) }
        return hold(after: offer(), offeredAt: roomCount, flow)
    }

    /// Stops the content after an offer that filled the owner's buffer, and returns the flow of the transfer.
    ///
    /// `roomCount` is the count from before the offer. A different count now means that the owner had room again before
    /// this call: the content is not stopped then.
    func hold(after intake: Demand, offeredAt roomCount: Int, _ flow: Flow) -> Flow {
        guard intake == .isFull else { return flow }
        handOver()
        return state.withLock { state in
            // The transfer gets the new flow as the result of its call, so the effect is dropped.
            if state.roomCount == roomCount { _ = state.handle(.full) }
            return state.life.holds.flow
        }
    }

    /// Stores the response; then the attempt continues.
    private func save() {
        guard let recorder = state.withLock({ $0.takeRecorder() }) else { return handle(.saved) }
        recorder.save(deciding: storingDecision, received: httpURLResponse) { self.handle(.saved) }
    }

    private func notifyOfEnd() {
        let ending = state.withLock { $0.takeEnding() }
        conclude(ending.outcome)
        ending.owner?.attemptDidComplete(self, failure: ending.failure)
    }
}
