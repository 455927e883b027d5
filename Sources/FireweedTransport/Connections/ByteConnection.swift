// A connection for protocols other than HTTP.

/// Receives the events of a `ByteConnection`; called on the event loop's thread.
///
/// No method is called after `connection(_:didEnd:)`, and none after `ByteConnection.close()` took effect.
package protocol ByteConnectionListener: AnyObject, Sendable {
    /// Called when the connection is open, with TLS if the destination is secure.
    func connectionDidOpen(_ connection: ByteConnection)
    /// Returns the bytes to send next; empty for none.
    ///
    /// Called after `ByteConnection.wantsToSend()` and whenever the connection opens or is ready, once the socket has
    /// taken all earlier bytes.
    func connectionBytesToSend(_ connection: ByteConnection) -> [UInt8]
    /// Called when bytes have arrived; `bytes` is valid during the call.
    func connection(_ connection: ByteConnection, didReceive bytes: UnsafeRawBufferPointer)
    /// Called when the connection ended or could not be made; `failure` is `nil` when the peer closed the connection.
    func connection(_ connection: ByteConnection, didEnd failure: TransferFailure?)
    /// Called at a moment that `wake(at:)` or `wantsToSend(wakeAt:)` requested; returns the next moment, or `nil` for
    /// none.
    func connection(_ connection: ByteConnection, timeReached now: UInt64) -> UInt64?
}

/// Opens connections for any protocol, with the look-ups, address race, TLS and trust rules of HTTP connections.
///
/// Proxies are not used.
package final class ByteConnector: Sendable {
    /// The destination of a connection.
    package enum Destination: Sendable, Hashable {
        case host(String, port: UInt16, isSecure: Bool)
        case unixSocket(String)
    }

    fileprivate let pools: [(pool: LoopPool, settings: PoolSettings)]

    /// Makes a connector that uses `options.eventLoops` event loops of the process.
    ///
    /// - Parameters:
    ///   - options: TLS, authorities, identity, addresses and `connectTimeout`; options of HTTP have no effect.
    ///   - trustRules: decide whether peers are trusted; `nil` leaves this to the authorities of the options.
    package init(options: TransportOptions, trustRules: ServerTrustRules?) {
        var options = options
        options.offersALPN = false
        let settings = PoolSettings(options: options, trustRules: trustRules)
        pools = EventLoopGroup.loops(options.eventLoops).map {
            (LoopPool(loop: $0, settings: settings, parts: EngineParts()), settings)
        }
    }

    deinit {
        for entry in pools { entry.pool.shutDown() }
    }

    /// The number of event loops; zero if the process was out of descriptors.
    package var loopCount: Int { pools.count }

    /// The index of the loop on whose thread the caller runs; `nil` on any other thread.
    package var currentLoop: Int? { pools.firstIndex { $0.pool.loop.isCurrent } }

    /// Whether this process is a fork(2) child of the process that made the connector; no loop runs in the child.
    package var isFromParentProcess: Bool { pools.first?.pool.loop.isFromParentProcess ?? false }

    /// Begins to connect; the listener is notified of the outcome.
    package func connect(
        to place: Destination, loop: Int, timeout: Duration, listener: any ByteConnectionListener
    ) -> ByteConnection {
        let (loopPool, settings) = pools[loop]
        var options = settings.options
        options.connectTimeout = timeout
        if case .unixSocket(let path) = place { options.unixSocketPath = path }
        let connection = ByteConnection(place, loopPool: loopPool, options: options, listener: listener)
        connection.begin()
        return connection
    }
}

/// A connection that sends and receives bytes over TCP, TLS or a Unix-domain socket.
///
/// Every method may be called from any thread; the calls take effect in their order.
package final class ByteConnection: @unchecked Sendable {
    // SAFETY: the variables are used only on the loop's thread, where `onLoop` and `begin` run their closures.
    private let place: ByteConnector.Destination
    private let loopPool: LoopPool
    private let options: TransportOptions
    /// The listener; released at the end, since a listener holds its connection.
    private var listener: (any ByteConnectionListener)?
    private var connection: DialedConnection?
    private var pool: ConnectionPool?
    private let timer = ConnectionTimer()
    private var outgoing: [UInt8] = []
    private var sentCount = 0
    private var isOpen = false
    private var isOver = false

    /// The most reads in one turn of the loop.
    private static let readLimit = 16
    private static let readByteCount = 64 * 1024

    fileprivate init(
        _ place: ByteConnector.Destination, loopPool: LoopPool, options: TransportOptions,
        listener: any ByteConnectionListener
    ) {
        self.place = place
        self.loopPool = loopPool
        self.options = options
        self.listener = listener
    }

    private func onLoop(_ body: @escaping @Sendable (ByteConnection) -> Void) {
        loopPool.loop.post { [self] _ in if !isOver { body(self) } }
    }

    fileprivate func begin() {
        loopPool.loop.post { [self] context in
            guard !isOver else { return }
            let pool = loopPool.pool(in: context)
            self.pool = pool
            timer.owner = self
            let made = DialedConnection(to: url, options: options, in: pool, owner: self)
            connection = made
            made.dial()
        }
    }

    private var url: String {
        switch place {
        case .host(let host, let port, let isSecure):
            "\(isSecure ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host):\(port)/"
        case .unixSocket: "http://localhost/"
        }
    }

    /// Asks the listener for bytes to send, on the loop's thread.
    ///
    /// The listener decides the order of the bytes on that thread, so calls from several threads cannot mix up the
    /// order.
    package func wantsToSend(wakeAt moment: UInt64? = nil) {
        onLoop { connection in
            if let moment { connection.lowerTimer(to: moment) }
            // Before the connection is open, the listener keeps the bytes, and has to limit their number.
            if connection.isOpen { connection.flush() }
        }
    }

    /// Calls the listener at a moment of the monotonic clock, in nanoseconds; of several requested moments, the
    /// earliest is used.
    package func wake(at moment: UInt64) {
        onLoop { $0.lowerTimer(to: moment) }
    }

    /// Closes the connection; the listener gets no further calls.
    package func close() {
        onLoop { $0.end() }
    }

    // MARK: On the loop

    private func lowerTimer(to moment: UInt64) {
        pool?.context.deadlines.lower(timer, to: moment)
    }

    fileprivate func timeReached(at now: LoopInstant) {
        guard !isOver, let next = listener?.connection(self, timeReached: now), !isOver else { return }
        lowerTimer(to: next)
    }

    private func flush() {
        while let connection {
            if sentCount == outgoing.count {
                sentCount = 0
                outgoing = listener?.connectionBytesToSend(self) ?? []
                // The listener may have closed the connection.
                guard !isOver else { return }
                guard !outgoing.isEmpty else { return connection.wait(for: .readable) }
            }
            let outcome = outgoing.withUnsafeBytes {
                connection.write(UnsafeRawBufferPointer(rebasing: $0[sentCount...]))
            }
            switch outcome {
            case .bytes(let count): sentCount += count
            case .wouldBlock: return connection.wait(for: [.readable, .writable])
            case .end: return finish(nil)
            case .failed(let failure): return finish(failure)
            }
        }
    }

    private func read() {
        guard let context = pool?.context else { return }
        var count = 0
        while let connection, connection.mayHoldBytes, count < Self.readLimit {
            count += 1
            let buffer = UnsafeMutableRawBufferPointer(rebasing: context.readBuffer[..<Self.readByteCount])
            switch connection.read(into: buffer) {
            case .bytes(let count):
                listener?.connection(self, didReceive: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            case .wouldBlock: break
            case .end: return finish(nil)
            case .failed(let failure): return finish(failure)
            }
        }
    }

    private func finish(_ failure: TransferFailure?) {
        guard !isOver else { return }
        let listener = listener
        end()
        listener?.connection(self, didEnd: failure)
    }

    private func end() {
        guard !isOver else { return }
        isOver = true
        pool?.context.deadlines.remove(timer)
        connection?.hangUp()
        connection = nil
        pool = nil
        outgoing = []
        timer.owner = nil
        listener = nil
    }
}

extension ByteConnection: DedicatedConnectionOwner {
    func connectionDidProgress() {}

    func connectionDidOpen() {
        isOpen = true
        listener?.connectionDidOpen(self)
        flush()
    }

    func connectionDidFail(_ failure: TransferFailure) { finish(failure) }

    func connectionIsReady() {
        read()
        if !isOver { flush() }
    }
}

/// A timer that holds its connection, so that a connection that is not closed reads until the peer closes it.
private final class ConnectionTimer: DeadlineEntry {
    var owner: ByteConnection?

    override func timeReached(at now: LoopInstant) { owner?.timeReached(at: now) }
}
