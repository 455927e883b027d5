// The connection pool of one loop, for other threads.

/// A handle to the connection pool of one transport on one loop, which the first exchange makes on the loop's thread.
final class LoopPool: @unchecked Sendable {
    let loop: EventLoop
    /// The numbers of the pool's connections, for other threads.
    let counters = PoolCounters()
    // SAFETY: read and written only by work that the loop runs, which is what `withPool` posts.
    private var settings: PoolSettings
    private let parts: EngineParts
    private var pool: ConnectionPool?
    #if WebSocket
    private var webSockets: WebSocketPool?
    #endif
    private var isShutDown = false

    init(loop: EventLoop, settings: PoolSettings, parts: EngineParts) {
        self.loop = loop
        self.settings = settings
        self.parts = parts
    }

    /// The pool, for work that is on the loop's thread already.
    func pool(in context: LoopContext) -> ConnectionPool {
        if let pool { return pool }
        let made = ConnectionPool(settings: settings, context: context, parts: parts, counters: counters)
        pool = made
        if isShutDown { made.shutDown() }
        return made
    }

    /// Runs `body` with the pool on the loop's thread, soon.
    func withPool(_ body: @escaping @Sendable (ConnectionPool) -> Void) {
        loop.post { [self] context in body(pool(in: context)) }
    }

    /// Gives rules to the pool, which is made with the first exchange.
    func evaluateServers(with rules: ServerTrustRules) {
        loop.post { [self] _ in settings.trustRules = rules }
    }

    /// Closes the connections that carry nothing, soon.
    func closeIdleConnections() {
        loop.post { [self] _ in pool?.closeIdleConnections() }
    }

    /// Ends every exchange, soon.
    func shutDown() {
        loop.post { [self] _ in
            isShutDown = true
            #if WebSocket
            webSockets?.shutDown()
            #endif
            pool?.shutDown()
        }
    }
}

#if WebSocket
extension LoopPool: WebSocketPoolProvider {
    /// The WebSockets, for work that is on the loop's thread already.
    func webSockets(in context: LoopContext) -> WebSocketPool {
        if let webSockets { return webSockets }
        let connections = pool(in: context)
        let made = WebSocketPool(settings: settings, context: context) { message, owner in
            DialedConnection(for: message, in: connections, owner: owner)
        }
        webSockets = made
        if isShutDown { made.shutDown() }
        return made
    }
}
#endif
