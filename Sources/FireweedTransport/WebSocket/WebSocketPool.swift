// The WebSockets of one session on one loop.

#if WebSocket
/// Keeps the WebSockets and their time-outs.
///
/// Loop-confined. One timer for all of them: a loop looks at every timer in every turn.
final class WebSocketPool: LoopTimer {
    /// Makes the connection for a message, which its owner dials.
    typealias ConnectionMaker = (RequestMessage, any DedicatedConnectionOwner) -> any DedicatedConnection

    let settings: PoolSettings
    let context: LoopContext
    let makeConnection: ConnectionMaker
    /// When the WebSockets have to be looked at.
    let timers = DeadlineHeap()
    /// Where bytes are read to, by one connection at a time.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
    private var connections: [ObjectIdentifier: WebSocketConnection] = [:]
    private(set) var isShutDown = false

    init(settings: PoolSettings, context: LoopContext, makeConnection: @escaping ConnectionMaker) {
        self.settings = settings
        self.context = context
        self.makeConnection = makeConnection
        context.add(self)
    }

    deinit { buffer.deallocate() }

    func add(_ connection: WebSocketConnection) {
        connections[ObjectIdentifier(connection)] = connection
    }

    func remove(_ connection: WebSocketConnection) {
        timers.remove(connection)
        connections[ObjectIdentifier(connection)] = nil
    }

    var deadline: LoopInstant? { timers.first }

    func deadlineReached() { timers.callDue(in: context) }

    /// Ends every WebSocket as cancelled, and lets no new ones begin.
    func shutDown() {
        isShutDown = true
        for connection in connections.values { connection.cancel() }
        context.remove(self)
    }
}
#endif
