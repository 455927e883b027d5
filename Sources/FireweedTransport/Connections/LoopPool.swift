// A handle to the connection pool of one loop, for other threads.

/// A handle to the connection pool of one transport on one loop; the pool is made on the loop's thread at its first
/// use.
final class LoopPool: @unchecked Sendable {
    let loop: EventLoop
    /// The counts of the pool's connections, which other threads read.
    let counters = PoolCounters()
    // SAFETY: the variables are used only in closures and methods that run on the loop's thread.
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

    /// The pool; called on the loop's thread.
    func pool(in context: LoopContext) -> ConnectionPool {
        if let pool { return pool }
        let made = ConnectionPool(settings: settings, context: context, parts: parts, counters: counters)
        pool = made
        if isShutDown { made.shutDown() }
        return made
    }

    /// Posts `body` to the loop's thread, to run with the pool.
    func withPool(_ body: @escaping @Sendable (ConnectionPool) -> Void) {
        loop.post { [self] context in body(pool(in: context)) }
    }

    /// Sets the trust rules; no effect after the pool was made.
    func evaluateServers(with rules: ServerTrustRules) {
        loop.post { [self] _ in settings.trustRules = rules }
    }

    /// Posts a request to close the idle connections.
    func closeIdleConnections() {
        loop.post { [self] _ in pool?.closeIdleConnections() }
    }

    /// Posts a request to end every exchange and close every connection.
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
    /// The pool of WebSockets; called on the loop's thread.
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
