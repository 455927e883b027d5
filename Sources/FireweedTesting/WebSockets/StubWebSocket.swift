// A WebSocket between a session and a stub's script.

import Fireweed
import Foundation
import Synchronization

/// Carries messages between the session's listener and a script.
///
/// Messages for the session wait here while the session's flow is paused.
final class StubWebSocket: WebSocketChannel, @unchecked Sendable {
    // SAFETY: the constants are `Sendable`, and `task` is locked; the variables are confined to the transport's serial
    // queue, which runs every command of the transfer.
    private let script: WebSocketScript
    private let listener: any WebSocketListener
    private let messageLimit: Int
    private weak let transfer: StubTransfer?
    private let request: RecordedRequest
    /// The script's task, once it runs.
    private let task = Mutex<Task<Void, Never>?>(nil)

    private(set) var isOpen = false
    private var peer: MockWebSocket?
    private var outgoing: [MockWebSocket.Action] = []

    init(
        _ script: WebSocketScript, offer: WebSocketOffer, request: RecordedRequest,
        of transfer: StubTransfer
    ) {
        self.script = script
        self.request = request
        listener = offer.listener
        messageLimit = max(0, offer.maximumMessageByteCount)
        self.transfer = transfer
    }

    /// Notifies the session, and starts the script; called on the transport's queue.
    func open() {
        isOpen = true
        let peer = MockWebSocket(request: request) { [weak self] action in
            guard let self else { return }
            self.transfer?.command { _ in
                self.outgoing.append(action)
                self.deliver()
            }
        }
        self.peer = peer
        listener.webSocketDidOpen(self, subprotocol: script.subprotocol)
        let task = peer.run(script)
        self.task.withLock { $0 = task }
    }

    /// Passes on the script's actions while the flow is running; called on the transport's queue.
    func deliver() {
        while isOpen, let transfer, transfer.flow.level == .running, !outgoing.isEmpty {
            switch outgoing.removeFirst() {
            case .send(let message) where message.byteCount > messageLimit:
                // 1009 is the code that a client sends to the server when a message is too big (RFC 6455 §7.4.1).
                peer?.closed(code: 1009, reason: Data())
                transfer.end(.tooLongForStub(limit: messageLimit))
            case .send(let message): transfer.receive(message, listener)
            case .fail(let error): transfer.end(.reported(error))
            case .close(let code, let reason):
                listener.webSocketDidClose(code: code, reason: reason)
                transfer.end(nil)
            }
        }
    }

    /// Ends the script, since the transfer is over; called on the transport's queue.
    func end(_ failure: TransferFailure?) {
        isOpen = false
        peer?.closed(code: nil, reason: Data())
        task.withLock { $0 }?.cancel()
    }

    // MARK: WebSocketChannel

    func send(_ message: WebSocketMessage, completion: @escaping @Sendable (TransferFailure?) -> Void) {
        perform(completion) { $0.peer?.took(message) }
    }

    func ping(completion: @escaping @Sendable (TransferFailure?) -> Void) {
        perform(completion) { _ in }
    }

    func close(code: UInt16, reason: Data) {
        let (code, reason) = (code == 0 ? 1005 : code, Data(CloseReason.fitting(reason)))
        perform(nil) { socket in
            socket.peer?.closed(code: code, reason: reason)
            // The peer answers with the same code (RFC 6455 §5.5.1), after the messages that it has sent already.
            socket.outgoing.append(.close(code: code, reason: reason))
            socket.deliver()
        }
    }

    private func perform(
        _ completion: (@Sendable (TransferFailure?) -> Void)?,
        _ body: @escaping @Sendable (StubWebSocket) -> Void
    ) {
        guard let transfer else {
            completion?(.closedStub)
            return
        }
        transfer.context.queue.async { [self] in
            guard isOpen else {
                completion?(.closedStub)
                return
            }
            body(self)
            completion?(nil)
        }
    }
}

extension TransferFailure {
    /// The failure of commands to a closed WebSocket.
    fileprivate static let closedStub = TransferFailure.exchange(
        .networkConnectionLost, detail: "the WebSocket was closed", engineCode: 0)

    /// Returns the failure for a message of the script that is longer than the client accepts.
    fileprivate static func tooLongForStub(limit: Int) -> TransferFailure {
        .exchange(
            .dataLengthExceedsMaximum, detail: "the peer sent a message that is longer than \(limit) bytes",
            engineCode: 1009)
    }
}
