// Events that an attempt receives from the transport.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension Attempt: TransferConsumer {
    func transferDidReceive(_ head: ResponseHead) -> Flow {
        let (hasOwner, isOfConcern) = state.withLock { state in
            state.setHead(head)
            let isOfConcern =
                state.answeringLink != nil || state.context.awaitsHead || links.interest.concerns(head)
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
            state.noteAnsweredChallenge(head)
            return state.owner?.request
        }
        request?.attempt(self, didReceiveChallenge: head)
    }

    /// Counts from `offset`, at which the response begins; the bytes before it count as received.
    func startCounting(at offset: Int64) {
        state.withLock { $0.startCounting(at: offset) }
    }

    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow {
        let bytes = content.bytes
        let delivery = state.withLock { $0.delivery(of: bytes.count) }
        if let recorder = delivery.recorder, !recorder.append(bytes) {
            state.withLock { $0.takeLead() }?.end(.unshared)
        }
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
            state.noteSent(total, expected: expected)
            return state.owner?.request
        }
        request?.attempt(self, didSend: byteCount, total: total, expected: expected)
    }

    func transferDidFinish(_ end: consuming TransferEnd) {
        var end = end
        end.failure = end.failure?.refined(for: record.url)
        if let refusal = end.failure?.overload {
            owningRequest?.notifyMonitors(.refusals) { $0.request($1, wasRefused: refusal) }
        }
        // A success without a head is a failure, except for a WebSocket. `lacksResponse` is false when a link answers:
        // a `URLProtocol` may end without a response.
        let (lacksHead, isWebSocket) = state.withLock { ($0.lacksResponse, $0.context.webSocket != nil) }
        if lacksHead, !isWebSocket, end.failure == nil { end.failure = .withoutResponse }
        let replacement = lacksHead ? end.failure.flatMap { conclude(.failed($0)) } : nil
        perform(state.withLock { [end, replacement] in $0.finish(end, replacedBy: replacement) })
    }
}
