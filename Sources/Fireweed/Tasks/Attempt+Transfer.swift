// What an attempt hears from the transport.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension Attempt: TransferConsumer {
    func transferDidReceive(_ head: ResponseHead) -> Flow {
        take(head)
        return state.withLock { $0.holds.flow }
    }

    private func take(_ head: ResponseHead) {
        core.strictTransportSecurity?.note(head, from: state.withLock { $0.hop.url })
        let setsCookies = core.settings.storesCookies && head.marks.contains(.setsCookies)
        let (owner, hasAnswered, recording) = state.withLock { state in
            state.head = head
            // A stored response has set its cookies when it came.
            state.hasUnstoredCookies = setsCookies && state.source.isNetwork
            return (state.owner, state.answeredChallenge != nil, state.recording)
        }
        if case .awaitingHead(let moment) = recording { noteForCache(head, sentAt: moment) }
        guard let owner else { return }
        if hasAnswered { rememberCredential(acceptedWith: head) }
        if head.status == 401 || head.status == 407 { owner.attempt(self, didReceiveChallenge: head) }
        if head.status == 401, asksDelegate(about: head) { return }
        if head.status == 401, let next = hop(answering: head) {
            discard(next: next)
        } else if (300..<400).contains(head.status), let decision = redirect(after: head, owner) {
            decide(decision, by: owner.effectiveRedirectHandler, response: head)
        } else if owner.wantsHead {
            tell(owner, head)
        }
    }

    /// Holds content back until somebody has decided about the head.
    func beginDeciding() {
        state.withLock { state in
            state.gate = .deciding(end: nil)
            state.holds.insert(.deciding)
        }
    }

    /// Has the rest of the present response thrown away; the next hop follows.
    func discard(next: Hop) {
        let control = state.withLock { state in
            state.gate = .discarding(next: next)
            return state.control
        }
        control?.discard()
    }

    func tell(_ owner: any AttemptOwner, _ head: ResponseHead) {
        // Closed first: the owner's decision may come before this method goes on.
        beginDeciding()
        switch owner.attempt(self, didReceive: head) {
        // Nothing has to be told to the transfer: it asks after this.
        case .proceed: _ = takeAllowance()
        case .wait: break
        case .again(let unwanted): repeatHop(without: unwanted)
        }
    }

    /// Sends the present hop again, without some of its fields; what comes of this response is thrown away.
    private func repeatHop(without unwanted: [String]) {
        var next = state.withLock { $0.hop }
        let unwanted = Set(unwanted.map { $0.lowercased() })
        next.fields = FieldBlock(next.fields.fields.filter { !unwanted.contains($0.name.lowercased()) })
        next.urlRequest = nil
        next.digest = nil  // a nonce that was used is a new challenge's
        begin(insteadOfResponse: next)
    }

    /// The response brings the bytes from `offset` on; those in front of them are counted as received.
    func startCounting(at offset: Int64) {
        state.withLock { $0.firstByteOffset = offset }
    }

    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow {
        let bytes = content.bytes
        guard let delivery = delivery(of: bytes.count) else { return .undecided }
        let intake = delivery.owner?.attempt(self, didReceive: bytes) ?? .wantsMore
        if let progress = delivery.progress { update(progress) }
        delivery.recorder?.append(bytes)
        return hold(after: intake, offeredAt: delivery.roomCount, delivery.flow)
    }

    private struct Delivery {
        let owner: (any AttemptOwner)?
        let progress: Progress?
        let recorder: ResponseRecorder?
        let roomCount: Int
        let flow: Flow
    }

    /// Where content goes; `nil` where nobody wants it.
    private func delivery(of byteCount: Int) -> Delivery? {
        state.withLock { state in
            guard case .open = state.gate else { return nil }
            state.receivedByteCount += Int64(byteCount)
            let recorder: ResponseRecorder? = if case .content(let recorder) = state.recording { recorder } else { nil }
            return Delivery(
                owner: state.owner, progress: state.progress, recorder: recorder, roomCount: state.roomCount,
                flow: state.holds.flow)
        }
    }

    func transferDidReachLull() {
        let owner = state.withLock { state -> (any AttemptOwner)? in
            if case .open = state.gate { state.owner } else { nil }
        }
        owner?.attemptDidReachLull(self)
    }

    func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?) {
        let owner = state.withLock { state in
            state.sentByteCount = total
            state.expectedToSend = expected
            return state.owner
        }
        owner?.attempt(self, didSend: byteCount, total: total, expected: expected)
    }

    func transferDidFinish(_ end: consuming TransferEnd) {
        let end = end
        let recorder = state.withLock { state -> ResponseRecorder? in
            // Dropped in any case: what came of a response that failed is of no use.
            defer { state.recording = .none }
            guard case .content(let recorder) = state.recording, end.failure == nil, state.failure == nil else {
                return nil
            }
            return recorder
        }
        guard let recorder else { return hopDidFinish(end) }
        recorder.save(deciding: storingDecision) { self.hopDidFinish(end) }
    }

    private func hopDidFinish(_ end: TransferEnd) {
        let step = state.withLock { state -> AfterDecision in
            for report in end.earlierReports + [end.report] { state.note(report) }
            switch state.gate {
            case .open:
                if let failure = end.failure, failure.isOffline, mayWait(state) { return .begin(state.hop) }
                return .end(end.failure)
            case .deciding:
                if state.failure != nil { return .end(end.failure) }
                state.gate = .deciding(end: end)
                return .nothing
            case .discarding(let next):
                // Whatever happened to the rest of the response: what its head says is known.
                return state.failure == nil ? .begin(next) : .end(end.failure)
            }
        }
        perform(step)
    }

    /// True when a hop that found no route can be sent anew once there is one: nothing of it was used up.
    private func mayWait(_ state: borrowing State) -> Bool {
        guard let gate = core.connectivity, state.failure == nil, state.head == nil else { return false }
        if case .reader = state.hop.body { return false }
        return gate.isClosed(for: state.hop.url)
    }
}
