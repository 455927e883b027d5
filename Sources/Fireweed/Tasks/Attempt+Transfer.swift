// What an attempt hears from the transport.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension Attempt: TransferConsumer {
    func transferDidReceive(_ head: ResponseHead) -> Flow {
        take(head)
        return state.withLock { $0.life.holds.flow }
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
        guard let owner else { return handle(.delivers) }
        if hasAnswered { rememberCredential(acceptedWith: head) }
        if head.status == 401 || head.status == 407 { owner.attempt(self, didReceiveChallenge: head) }
        if head.status == 401, asksDelegate(about: head) { return }
        if head.status == 401, let next = hop(answering: head) {
            leave(for: next)
        } else if (300..<400).contains(head.status), let decision = redirect(after: head, owner) {
            decide(decision, by: owner.effectiveRedirectHandler, response: head)
        } else if owner.wantsHead {
            tell(owner, head)
        } else {
            handle(.delivers)
        }
    }

    /// Leaves the present response for another message.
    func leave(for next: Hop) {
        handle(.leaves(isRecorded: state.withLock { $0.isRecorded })) { $0.next = next }
    }

    /// Shows the owner the head, and does what it says.
    func tell(_ owner: any AttemptOwner, _ head: ResponseHead) {
        // First: the owner's decision may come before this method continues.
        handle(.asks)
        switch owner.attempt(self, didReceive: head) {
        // Nothing has to be told to the transfer: it asks after this.
        case .proceed: handle(.passes, withholding: .setFlow)
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
        leave(for: next)
    }

    /// The response brings the bytes from `offset` on; those in front of them are counted as received.
    func startCounting(at offset: Int64) {
        state.withLock { $0.firstByteOffset = offset }
    }

    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow {
        let bytes = content.bytes
        let delivery = state.withLock { $0.delivery(of: bytes.count) }
        delivery.recorder?.append(bytes)
        guard delivery.isWanted else {
            if delivery.isTooLong { state.withLock { $0.control }?.discard() }
            return delivery.flow
        }
        let intake = delivery.owner?.attempt(self, didReceive: bytes) ?? .wantsMore
        if let progress = delivery.progress { update(progress) }
        return hold(after: intake, offeredAt: delivery.roomCount, delivery.flow)
    }

    func transferDidReachLull() {
        let owner = state.withLock { $0.life.stage == .delivering ? $0.owner : nil }
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
        var end = end
        end.failure = end.failure?.refined(for: record.url)
        let effects = state.withLock { [end] state in
            for report in end.earlierReports { state.note(report) }
            state.note(end.report)
            state.transferEnd = end
            if let failure = end.failure, failure.isOffline, mayWait(state) {
                state.next = state.hop
                return state.handle(.fallsBack)
            }
            return state.handle(.finishes(hasFailed: end.failure != nil, isRecorded: state.isRecorded))
        }
        perform(effects)
    }

    /// True when a hop that found no route can be sent anew once there is one: nothing of it was used up.
    private func mayWait(_ state: borrowing State) -> Bool {
        guard let gate = core.connectivity, state.failure == nil, state.head == nil else { return false }
        if case .reader = state.hop.body { return false }
        return gate.isClosed(for: state.hop.url)
    }
}

/// Where a piece of content goes.
private struct Delivery {
    /// Whether the content is the owner's.
    var isWanted = false
    /// Whether more has come of a response that was left than is worth reading.
    var isTooLong = false
    var owner: (any AttemptOwner)?
    var progress: Progress?
    var recorder: ResponseRecorder?
    let roomCount: Int
    let flow: Flow
}

extension Attempt.State {
    /// So much of a response that was left is read, so that it can be stored.
    private static let leftLimit = 64 * 1024

    /// Whether what comes of the response is written down, to be stored.
    var isRecorded: Bool { if case .content = recording { true } else { false } }

    fileprivate mutating func delivery(of byteCount: Int) -> Delivery {
        var delivery = Delivery(roomCount: roomCount, flow: life.holds.flow)
        if case .content(let recorder) = recording { delivery.recorder = recorder }
        switch life.stage {
        // A `URLProtocol` may give content without a response.
        case .delivering, .sent:
            receivedByteCount += Int64(byteCount)
            (delivery.isWanted, delivery.owner, delivery.progress) = (true, owner, progress)
        case .leaving where delivery.recorder != nil:
            leftByteCount += byteCount
            guard leftByteCount > Self.leftLimit else { break }
            recording = .none
            (delivery.isTooLong, delivery.recorder) = (true, nil)
        case .ready, .preparing, .waitingForRoute, .deciding, .leaving, .saving, .cancelling, .ended: break
        }
        return delivery
    }
}
