// WebSockets whose server sends each message back.

import Fireweed
import Foundation
import Synchronization

extension OperationRun {
    private static let messageCount = 4

    func runWebSocket() async {
        let request = make {
            $0.webSocketRequest(
                to: url, interceptor: interceptor, shouldAutomaticallyResume: false, requestModifier: modifier)
        }
        let meddler = Meddler(record, slot: slot, task: task) { [self] request in
            if let request = request as? WebSocketRequest { addHandler("late socket handler", to: request, nil) }
        }
        for number in 0..<operation.reading.handlerCount {
            addHandler("socket handler \(number)", to: request, number == 0 ? meddler : nil)
        }
        guard operation.reading.isAwaited else {
            prepare(request, meddler)
            request.resume()
            return
        }
        let isTalking = operation.reading.handlerCount == 0
        let events = request.webSocketTask().streamingMessageEvents()
        let talk = Talk(self, isTalking: isTalking, meddler: meddler)
        let ticket = record.expect("end of the socket's events")
        prepare(request, meddler)
        request.resume()
        await task.run {
            for await event in events { talk.take(event, request) { ticket.call($0) } }
            if Task.isCancelled { ticket.callIfMissing() }
        }
    }

    private func addHandler(_ name: String, to request: WebSocketRequest, _ meddler: Meddler?) {
        let ticket = record.expect(name)
        let talk = Talk(self, isTalking: meddler != nil, meddler: meddler)
        request.streamMessageEvents(on: queue) { [weak request] event in
            talk.take(event, request) { ticket.call($0) }
        }
    }

    /// A listener of a WebSocket; a talking listener sends each message when the previous message has come back.
    private final class Talk: Sendable {
        private let run: OperationRun
        private let isTalking: Bool
        private let meddler: Meddler?
        private let count = Mutex(0)

        init(_ run: OperationRun, isTalking: Bool, meddler: Meddler?) {
            self.run = run
            self.isTalking = isTalking
            self.meddler = meddler
        }

        func take(
            _ event: WebSocketRequest.Event<URLSessionWebSocketTask.Message, Never>, _ request: WebSocketRequest?,
            end: (Outcome) -> Void
        ) {
            switch event.kind {
            case .connected:
                run.record.note("connected")
                meddler?.reached(.head, request)
                count.withLock { $0 = 0 }
                if isTalking { send(0, request) }
            case .receivedMessage(let message): received(message, request)
            case .disconnected(let code, _): run.record.note("disconnected: \(code)")
            case .completed(let completion):
                meddler?.reached(.handler, request)
                end(Outcome(completion.response, error: completion.error))
            case .serializerFailed: break
            }
        }

        private func received(_ message: URLSessionWebSocketTask.Message, _ request: WebSocketRequest?) {
            meddler?.reached(.element, request)
            let number = count.withLock { count in
                defer { count += 1 }
                return count
            }
            run.record.note("message \(number)")
            guard isTalking else { return }  // a late listener may have missed messages
            // After a retry, messages that were enqueued before go over the new connection: any message may come back.
            let expected = run.mayRetry ? (0..<OperationRun.messageCount).map(run.message) : [run.message(number)]
            guard case .data(let data) = message, expected.contains(data) else {
                return run.record.fault("message \(number) came back as another")
            }
            if number + 1 < OperationRun.messageCount {
                send(number + 1, request)
            } else {
                request?.close(sending: .normalClosure)
            }
        }

        private func send(_ number: Int, _ request: WebSocketRequest?) {
            guard let request else { return }
            let ticket = run.record.expect("sending of message \(number)")
            request.send(.data(run.message(number)), queue: run.queue) { _ in ticket.call() }
            guard number == 1 else { return }
            let pong = run.record.expect("answer to a ping")
            request.sendPing(respondingOn: run.queue) { _ in pong.call() }
        }
    }

    private func message(_ number: Int) -> Data {
        KnownContent.bytes(id: operation.target.id + number, count: operation.target.byteCount)
    }
}
