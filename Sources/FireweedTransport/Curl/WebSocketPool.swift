// The WebSockets of one session on one loop.

/// Keeps the connections and tells each when a moment of its own has come.
///
/// Loop-confined. One timer for all of them: a loop looks at every timer in every turn.
final class WebSocketPool: LoopTimer {
    let settings: PoolSettings
    let context: LoopContext
    /// Where bytes are read to, by one connection at a time.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
    private(set) var deadline: LoopInstant?
    private var connections: [ObjectIdentifier: WebSocketConnection] = [:]
    private(set) var isShutDown = false

    init(settings: PoolSettings, context: LoopContext) {
        self.settings = settings
        self.context = context
        context.add(self)
    }

    deinit { buffer.deallocate() }

    func add(_ connection: WebSocketConnection) {
        connections[ObjectIdentifier(connection)] = connection
    }

    func remove(_ connection: WebSocketConnection) {
        connections[ObjectIdentifier(connection)] = nil
    }

    /// Makes sure that moments are looked at when this one has come.
    func lowerDeadline(to moment: LoopInstant?) {
        guard let moment else { return }
        deadline = min(deadline ?? moment, moment)
    }

    func deadlineReached() {
        deadline = nil
        for connection in connections.values {
            connection.timeHasCome()
            lowerDeadline(to: connection.deadline)
        }
    }

    /// Ends every WebSocket as cancelled, and lets no new ones begin.
    func shutDown() {
        isShutDown = true
        for connection in connections.values { connection.cancel() }
        context.remove(self)
    }
}
