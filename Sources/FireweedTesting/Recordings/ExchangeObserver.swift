// The observation of an exchange that is recorded.

import Fireweed
import Foundation
import Synchronization

/// An exchange as it was on the wire, with decoded content.
struct ObservedExchange: Sendable {
    struct Message: Sendable {
        let isSent: Bool
        let date: Date
        let message: WebSocketMessage
    }

    let startDate: Date
    let method: String
    let url: String
    let fields: [Field]
    let body: Data
    let isWebSocket: Bool
    var head: ResponseHead?
    var content = Data()
    var messages: [Message] = []
    var failure: TransferFailure?
    var report = TransferReport()
}

/// Passes an exchange's events on, and adds the exchange to an archive when it has ended.
final class ExchangeObserver: TransferConsumer {
    private let base: any TransferConsumer
    private let archive: ArchiveBuilder
    private let state: Mutex<ObservedExchange>

    init(_ message: RequestMessage, _ base: any TransferConsumer, _ archive: ArchiveBuilder, startedAt date: Date) {
        self.base = base
        self.archive = archive
        // The `StubTransport` that passed the message on has already read its content into memory.
        let body = if case .data(let data) = message.body { data } else { Data() }
        state = Mutex(
            ObservedExchange(
                startDate: date, method: message.method, url: message.url, fields: message.fields.fields,
                body: body, isWebSocket: message.webSocket != nil))
    }

    func note(_ message: WebSocketMessage, isSent: Bool) {
        let message = ObservedExchange.Message(isSent: isSent, date: Date(), message: message)
        state.withLock { $0.messages.append(message) }
    }

    func transferDidReceiveInterim(_ head: ResponseHead) { base.transferDidReceiveInterim(head) }
    func transferDidAnswerChallenge(_ head: ResponseHead) { base.transferDidAnswerChallenge(head) }
    func transferDidCompleteRead() { base.transferDidCompleteRead() }

    func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?) {
        base.transferDidSend(byteCount, total: total, expected: expected)
    }

    func transferDidReceive(_ head: ResponseHead) -> Flow {
        state.withLock { $0.head = head }
        return base.transferDidReceive(head)
    }

    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow {
        let bytes = content.bytes
        state.withLock { $0.content.append(contentsOf: bytes) }
        return base.transferDidReceive(content)
    }

    func transferDidFinish(_ end: consuming TransferEnd) {
        let (failure, report) = (end.failure, end.report)
        let exchange = state.withLock { state in
            state.failure = failure
            state.report = report
            return state
        }
        // Added before the consumer is notified, so that a test that awaits the response finds the exchange in the
        // archive.
        archive.add(exchange)
        base.transferDidFinish(end)
    }
}

/// Records the messages that a WebSocket receives.
final class WebSocketObserver: WebSocketListener {
    private let base: any WebSocketListener
    private let exchange: ExchangeObserver

    init(_ base: any WebSocketListener, _ exchange: ExchangeObserver) {
        self.base = base
        self.exchange = exchange
    }

    func webSocketDidOpen(_ channel: any WebSocketChannel, subprotocol: String?) {
        base.webSocketDidOpen(ObservedChannel(channel, exchange), subprotocol: subprotocol)
    }

    func webSocketDidReceive(_ message: WebSocketMessage) -> Flow {
        exchange.note(message, isSent: false)
        return base.webSocketDidReceive(message)
    }

    func webSocketDidClose(code: UInt16, reason: Data) { base.webSocketDidClose(code: code, reason: reason) }
}

/// Records the messages that a WebSocket sends.
private final class ObservedChannel: WebSocketChannel {
    private let base: any WebSocketChannel
    private let exchange: ExchangeObserver

    init(_ base: any WebSocketChannel, _ exchange: ExchangeObserver) {
        self.base = base
        self.exchange = exchange
    }

    func send(_ message: WebSocketMessage, completion: @escaping @Sendable (TransferFailure?) -> Void) {
        exchange.note(message, isSent: true)
        base.send(message, completion: completion)
    }

    func ping(completion: @escaping @Sendable (TransferFailure?) -> Void) { base.ping(completion: completion) }
    func close(code: UInt16, reason: Data) { base.close(code: code, reason: reason) }
}
