// The WebSockets of one session on one loop.

#if WebSocket
/// Holds the WebSockets of one session on one loop; loop-confined.
final class WebSocketPool {
    /// Makes the connection for a message; the connection's owner dials it.
    typealias ConnectionMaker = (RequestMessage, any DedicatedConnectionOwner) -> any DedicatedConnection

    let settings: PoolSettings
    let context: LoopContext
    let makeConnection: ConnectionMaker
    /// The read buffer, which one connection uses at a time.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
    private var connections: [ObjectIdentifier: WebSocketConnection] = [:]
    private(set) var isShutDown = false

    init(settings: PoolSettings, context: LoopContext, makeConnection: @escaping ConnectionMaker) {
        self.settings = settings
        self.context = context
        self.makeConnection = makeConnection
    }

    deinit { buffer.deallocate() }

    func add(_ connection: WebSocketConnection) {
        connections[ObjectIdentifier(connection)] = connection
    }

    func remove(_ connection: WebSocketConnection) {
        context.deadlines.remove(connection)
        connections[ObjectIdentifier(connection)] = nil
    }

    /// Cancels every WebSocket, and prevents new ones from starting.
    func shutDown() {
        isShutDown = true
        for connection in connections.values { connection.cancel() }
    }
}
#endif
