// One loop and the connections that live on it.

/// The connections of one transport on one loop, made on the loop's thread by the first exchange.
final class EngineLane: WebSocketLane, @unchecked Sendable {
    let loop: EventLoop
    // SAFETY: read and written only by work that the loop runs, which is what `withTable` posts.
    private var settings: PoolSettings
    private let parts: EngineParts
    private var table: ConnectionTable?
    private var webSockets: WebSocketPool?
    private var isShutDown = false

    init(loop: EventLoop, settings: PoolSettings, parts: EngineParts) {
        self.loop = loop
        self.settings = settings
        self.parts = parts
    }

    /// The table, for work that is on the loop's thread already.
    func table(in context: LoopContext) -> ConnectionTable {
        if let table { return table }
        let made = ConnectionTable(settings: settings, context: context, parts: parts)
        table = made
        if isShutDown { made.shutDown() }
        return made
    }

    /// The WebSockets, for work that is on the loop's thread already.
    func webSockets(in context: LoopContext) -> WebSocketPool {
        if let webSockets { return webSockets }
        let table = table(in: context)
        let made = WebSocketPool(settings: settings, context: context) { message, owner in
            DialedConnection(for: message, in: table, owner: owner)
        }
        webSockets = made
        if isShutDown { made.shutDown() }
        return made
    }

    /// Runs `body` with the table on the loop's thread, soon.
    func withTable(_ body: @escaping @Sendable (ConnectionTable) -> Void) {
        loop.post { [self] context in body(table(in: context)) }
    }

    /// Gives rules to the table, which is made with the first exchange.
    func judgeServers(by rules: ServerTrustRules) {
        loop.post { [self] _ in settings.trustRules = rules }
    }

    /// Closes the connections that carry nothing, soon.
    func closeIdleConnections() {
        loop.post { [self] _ in table?.closeIdleConnections() }
    }

    /// Ends every exchange, soon.
    func shutDown() {
        loop.post { [self] _ in
            isShutDown = true
            webSockets?.shutDown()
            table?.shutDown()
        }
    }
}
