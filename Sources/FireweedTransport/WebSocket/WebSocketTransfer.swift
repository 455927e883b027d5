// The handle of a WebSocket for other threads.

#if WebSocket
import Foundation

/// Provides the loop of a WebSocket, and the pool of WebSockets on that loop.
protocol WebSocketPoolProvider: AnyObject, Sendable {
    var loop: EventLoop { get }
    /// Returns the transport's WebSockets on this loop, for work that already runs on the loop's thread.
    func webSockets(in context: LoopContext) -> WebSocketPool
}

/// Controls a WebSocket: posts each call to the WebSocket's loop.
final class WebSocketTransfer: TransferControl, WebSocketChannel, @unchecked Sendable {
    let message: RequestMessage
    let offer: WebSocketOffer
    private let pools: any WebSocketPoolProvider

    // SAFETY: `consumer` and `connection` are used on the loop's thread only, where `onLoop` runs its work. A forked
    // child has no such thread: there, only the call that starts the transfer uses `consumer`.
    /// Retained until the end only, because the consumer retains the transfer.
    var consumer: (any TransferConsumer)?
    private var connection: WebSocketConnection?

    init(
        message: RequestMessage, offer: WebSocketOffer, consumer: any TransferConsumer, pools: any WebSocketPoolProvider
    ) {
        self.message = message
        self.offer = offer
        self.consumer = consumer
        self.pools = pools
    }

    private func onLoop(_ body: @escaping @Sendable (WebSocketConnection) -> Void) {
        pools.loop.post { [self] context in
            if let connection { return body(connection) }
            let made = WebSocketConnection(self, pool: pools.webSockets(in: context))
            connection = made
            body(made)
        }
    }

    // MARK: TransferControl

    func start(_ flow: Flow) {
        guard !pools.loop.isFromParentProcess else {
            let consumer = consumer.take()
            consumer?.transferDidFinish(TransferEnd(.forked, report: TransferReport()))
            return
        }
        onLoop { connection in
            connection.setFlow(flow)
            connection.start()
        }
    }

    func cancel() { onLoop { $0.cancel() } }
    func discard() { onLoop { $0.cancel() } }
    func setFlow(_ flow: Flow) { onLoop { $0.setFlow(flow) } }

    // MARK: WebSocketChannel

    func send(_ message: WebSocketMessage, completion: @escaping @Sendable (TransferFailure?) -> Void) {
        onLoop { $0.send(message, completion: completion) }
    }

    func ping(completion: @escaping @Sendable (TransferFailure?) -> Void) {
        onLoop { $0.ping(completion: completion) }
    }

    func close(code: UInt16, reason: Data) {
        onLoop { $0.close(code: code, reason: reason) }
    }
}
#endif
