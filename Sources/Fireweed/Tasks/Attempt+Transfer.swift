// What an attempt hears from the transport.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension Attempt: TransferConsumer {
    /// More of a redirect's content than this is not waited for.
    private static let discardLimit = 64 * 1024

    func transferDidReceive(_ head: ResponseHead) {
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
            state.withLock { $0.gate = .discarding(next: next, byteCount: 0) }
        } else if (300..<400).contains(head.status), let decision = redirect(after: head, owner) {
            decide(decision, by: owner.effectiveRedirectHandler, response: head)
        } else if owner.wantsHead {
            tell(owner, head)
        }
    }

    func tell(_ owner: any AttemptOwner, _ head: ResponseHead) {
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
            next.digest = nil  // a nonce that was used is a new challenge's
            state.gate = .discarding(next: next, byteCount: 0)
        }
    }

    /// The response brings the bytes from `offset` on; those in front of them are counted as received.
    func startCounting(at offset: Int64) {
        state.withLock { $0.firstByteOffset = offset }
    }

    func transferDidReceive(_ bytes: UnsafeRawBufferPointer) -> Intake {
        let (step, recorder) = state.withLock { state -> (ContentStep, ResponseRecorder?) in
            let step = contentStep(for: bytes.count, &state)
            guard case .content(let recorder) = state.recording else { return (step, nil) }
            return (step, recorder)
        }
        var intake = Intake.taken
        switch step {
        case .answer(let answer): intake = answer
        case .cut(let control): control.cancel()
        case .deliver(let owner, let progress):
            intake = owner?.attempt(self, didReceive: bytes) ?? .taken
            if intake == .pause { state.withLock { $0.receivedByteCount -= Int64(bytes.count) } }
            if let progress { update(progress) }
        }
        if intake == .taken { recorder?.append(bytes) }
        return intake
    }

    private enum ContentStep {
        case deliver((any AttemptOwner)?, Progress?), answer(Intake), cut(any TransferControl)
    }

    private func contentStep(for byteCount: Int, _ state: inout State) -> ContentStep {
        switch state.gate {
        case .open:
            state.receivedByteCount += Int64(byteCount)
            return .deliver(state.owner, state.progress)
        case .deciding(let ended, _):
            state.gate = .deciding(ended: ended, hasPaused: true)
            return .answer(.pause)
        case .discarding(let next, let count):
            state.gate = .discarding(next: next, byteCount: count + byteCount)
            guard count + byteCount > Self.discardLimit, let control = state.control else { return .answer(.taken) }
            return .cut(control)
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

    func transferDidFinish(_ failure: TransferFailure?, report: TransferReport) {
        let recorder = state.withLock { state -> ResponseRecorder? in
            // Dropped in any case: what came of a response that failed is of no use.
            defer { state.recording = .none }
            guard case .content(let recorder) = state.recording, failure == nil, state.failure == nil else {
                return nil
            }
            return recorder
        }
        guard let recorder else { return hopDidFinish(failure, report) }
        recorder.save(deciding: storingDecision) { self.hopDidFinish(nil, report) }
    }

    private func hopDidFinish(_ failure: TransferFailure?, _ report: TransferReport) {
        var report = report
        // What ended before it came to a transport has no time of its own.
        if report.startNanoseconds == 0 { report.startNanoseconds = Int64(Date().timeIntervalSince1970 * 1e9) }
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
    /// True when a hop that found no route can be sent anew once there is one: nothing of it was used up.
    private func mayWait(_ state: borrowing State) -> Bool {
        guard let gate = core.connectivity, state.failure == nil, state.head == nil else { return false }
        if case .reader = state.hop.body { return false }
        return gate.isClosed(for: state.hop.url)
    }
}
