// Events that an attempt receives from the transport.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension Attempt: TransferConsumer {
    func transferDidReceive(_ head: ResponseHead) -> Flow {
        let (hasOwner, isOfConcern) = state.withLock { state in
            state.head = head
            let isOfConcern =
                state.answeringLink != nil || state.exchange.awaitsHead || links.interest.concerns(head)
            return (state.owner != nil, isOfConcern)
        }
        if !hasOwner {
            handle(.delivers)
        } else if isOfConcern {
            walkBack(head)
        } else {
            show(head, isInCall: true)
        }
        return state.withLock { $0.life.holds.flow }
    }

    func transferDidAnswerChallenge(_ head: ResponseHead) {
        let request = state.withLock { state in
            state.exchange.answeredChallenge = head
            state.exchange.awaitsHead = true
            return state.owner?.request
        }
        request?.attempt(self, didReceiveChallenge: head)
    }

    /// Counts from `offset`, at which the response begins; the bytes before it count as received.
    func startCounting(at offset: Int64) {
        state.withLock { $0.firstByteOffset = offset }
    }

    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow {
        let bytes = content.bytes
        let delivery = state.withLock { $0.delivery(of: bytes.count) }
        if let recorder = delivery.recorder, !recorder.append(bytes) { endFetch(.unshared) }
        guard delivery.isWanted else {
            if delivery.isTooLong { state.withLock { $0.control }?.discard() }
            return delivery.flow
        }
        let intake = delivery.request?.attempt(self, didReceive: bytes) ?? .wantsMore
        if let progress = delivery.progress { update(progress) }
        return hold(after: intake, offeredAt: delivery.roomCount, delivery.flow)
    }

    func transferDidCompleteRead() {
        let request = state.withLock { $0.life.stage == .delivering ? $0.owner?.request : nil }
        request?.parts.receiver.readComplete()
    }

    func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?) {
        let request = state.withLock { state in
            state.sentByteCount = total
            state.expectedToSend = expected
            return state.owner?.request
        }
        request?.attempt(self, didSend: byteCount, total: total, expected: expected)
    }

    func transferDidFinish(_ end: consuming TransferEnd) {
        var end = end
        end.failure = end.failure?.refined(for: record.url)
        // A link that answers may end without a response, as a `URLProtocol` may.
        let (lacksHead, isWebSocket) = state.withLock { state in
            (
                state.life.stage == .sent && state.failure == nil && state.head == nil && state.answeringLink == nil,
                state.message.webSocket != nil
            )
        }
        if lacksHead, !isWebSocket, end.failure == nil { end.failure = .withoutResponse }
        let recovery = lacksHead ? end.failure.flatMap { self.recovery(from: $0) } : nil
        if case .failure(let failure) = recovery { end.failure = failure }
        let effects = state.withLock { [end] state in
            for report in end.earlierReports { state.note(report) }
            state.note(end.report)
            state.transferEnd = end
            if case .next(let next) = recovery, state.life.stage == .sent {
                state.next = next
                return state.handle(.fallsBack)
            }
            return state.handle(.finishes(hasFailed: end.failure != nil, isRecorded: state.exchange.recorder != nil))
        }
        perform(effects)
    }
}

/// How a piece of content is treated.
private struct Delivery {
    /// Whether the owner gets it.
    var isWanted = false
    /// Whether an abandoned response has brought more than is worth reading.
    var isTooLong = false
    var request: Request?
    var progress: Progress?
    var recorder: ResponseRecorder?
    let roomCount: Int
    let flow: Flow
}

extension Attempt.State {
    /// Bytes of an abandoned response that are read so that the response can be stored: 64 KiB.
    private static let leftLimit = 64 * 1024

    fileprivate mutating func delivery(of byteCount: Int) -> Delivery {
        var delivery = Delivery(roomCount: roomCount, flow: life.holds.flow)
        delivery.recorder = exchange.recorder
        switch life.stage {
        // A `URLProtocol` may give content without a response.
        case .delivering, .sent:
            receivedByteCount += Int64(byteCount)
            (delivery.isWanted, delivery.request, delivery.progress) = (true, owner?.request, progress)
        case .leaving where delivery.recorder != nil:
            leftByteCount += byteCount
            guard leftByteCount > Self.leftLimit else { break }
            exchange.recorder = nil
            (delivery.isTooLong, delivery.recorder) = (true, nil)
        case .ready, .preparing, .waiting, .deciding, .leaving, .saving, .cancelling, .ended: break
        }
        return delivery
    }
}
