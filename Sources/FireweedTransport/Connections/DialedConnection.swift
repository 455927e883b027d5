// A connection for one WebSocket or one `ByteConnection`.

/// Dials a connection, and reads and writes for its owner: a WebSocket or a `ByteConnection`.
///
/// The socket is registered once, edge-triggered; this object stores the readiness. Confined to the loop's thread.
final class DialedConnection: DedicatedConnection {
    private let destination: Destination
    private let pool: ConnectionPool
    private unowned let owner: any DedicatedConnectionOwner
    private var dialer: Dialer?
    private var socket: ConnectedSocket?

    /// Whether bytes may wait on the socket; false after a read that did not fill its buffer.
    private var isReadable = false
    private var isWritable = true
    /// Whether the peer has closed its side; bytes before the end may still be read.
    private var hasPeerClosed = false
    /// The readiness for which the owner waits.
    private var interest: SocketReadiness = []

    /// Whether the connection leads through a proxy; false before `dial()`.
    private var usesProxy = false

    /// The peer of the connection.
    private enum Destination {
        /// The origin of a message, through the message's proxy, with the options of the pool.
        case origin(of: RequestMessage)
        /// The host of a URL, without a proxy.
        case host(url: String, TransportOptions)
    }

    /// Makes a connection for a message, without dialling yet.
    init(for message: RequestMessage, in pool: ConnectionPool, owner: any DedicatedConnectionOwner) {
        destination = .origin(of: message)
        self.pool = pool
        self.owner = owner
    }

    /// Makes a connection to the host and port of a URL, for a protocol other than HTTP, without dialling yet.
    init(to url: String, options: TransportOptions, in pool: ConnectionPool, owner: any DedicatedConnectionOwner) {
        destination = .host(url: url, options)
        self.pool = pool
        self.owner = owner
    }

    /// The origin, and the options for the connection to it.
    private func origin() throws(TransferFailure) -> (OriginKey, TransportOptions) {
        switch destination {
        case .origin(let message):
            let target = try RequestTarget(message.url)
            let proxy = try ProxyChoice().proxy(for: target, pool.settings.options)
            return (try OriginKey(target, tunnelledBy: proxy, for: message), pool.settings.options)
        case .host(let url, let options): return (OriginKey(try RequestTarget(url), proxy: nil), options)
        }
    }

    func dial() {
        do throws(TransferFailure) {
            let (key, options) = try origin()
            usesProxy = key.proxy != nil
            // A `userTimeout` of zero keeps the kernel's own time-out: the peer of an open WebSocket may leave bytes
            // unread for a long time.
            let made = Dialer(
                DialTarget(key, options: options, digests: pool.digests, isForUpgrade: true), userTimeout: 0,
                context: pool.context, parts: pool.parts, tls: pool.tls, owner: self)
            dialer = made
            made.begin()
        } catch {
            owner.connectionDidFail(error)
        }
    }

    func hangUp() {
        dialer?.abandon()
        dialer = nil
        guard let socket else { return }
        self.socket = nil
        pool.context.sockets.willClose(socket.channel.descriptor)
        socket.channel.close()
    }

    // MARK: Bytes

    func read(into buffer: UnsafeMutableRawBufferPointer) -> ByteChannel.TransferResult {
        guard let channel = socket?.channel else { return .wouldBlock }
        let outcome = channel.receive(into: buffer)
        switch outcome {
        case .bytes(let count): isReadable = count == buffer.count || hasPeerClosed || channel.hasEnded
        case .wouldBlock, .end, .failed: isReadable = false
        }
        return outcome
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> ByteChannel.TransferResult {
        guard let channel = socket?.channel else { return .wouldBlock }
        let outcome = channel.send(bytes, UnsafeRawBufferPointer(start: nil, count: 0))
        switch outcome {
        case .bytes: break
        case .wouldBlock, .end, .failed: isWritable = false
        }
        return outcome
    }

    var mayHoldBytes: Bool { isReadable }

    func wait(for readiness: SocketReadiness) {
        interest = readiness
        // The kernel reports an edge once, possibly before this call: so the stored readiness is reported too.
        if isReady { pool.context.continueAfterSockets(self) }
    }

    private var isReady: Bool {
        interest.contains(.readable) && isReadable || interest.contains(.writable) && isWritable
    }

    private func tellOwner() {
        if socket != nil, isReady { owner.connectionIsReady() }
    }

    // MARK: Reports

    func fill(_ report: inout TransferReport, since start: LoopInstant) {
        report.isReusedConnection = false
        report.usesProxy = usesProxy
        guard let socket else { return }
        func moment(_ instant: LoopInstant) -> Int64 { max(1, Int64((max(instant, start) - start) / 1000)) }
        report.waited = moment(socket.start) - 1
        report.lookedUp = Int64((socket.lookupEnd - socket.start) / 1000)
        report.nameLookup = moment(socket.lookupEnd)
        report.connect = moment(socket.connectEnd)
        if let secureEnd = socket.secureEnd { report.secureConnect = moment(secureEnd) }
        report.connection = details(protocolName: nil)
    }

    var details: ConnectionDetails { details(protocolName: "http/1.1") }

    private func details(protocolName: String?) -> ConnectionDetails {
        ConnectionDetails(
            protocolName: protocolName,
            localEndpoint: socket.flatMap { SocketAddress.local(of: $0.channel.descriptor)?.endpoint },
            remoteEndpoint: socket?.address.endpoint, tls: socket?.channel.tls?.report)
    }
}

extension DialedConnection: DialerOwner {
    func dialerDidProgress(_ dialer: Dialer) { owner.connectionDidProgress() }

    func dialer(_ dialer: Dialer, didConnect socket: ConnectedSocket) {
        self.dialer = nil
        self.socket = socket
        isReadable = socket.isReadable
        hasPeerClosed = pool.context.sockets.hand(socket.channel.descriptor, to: self)
        owner.connectionDidOpen()
    }

    func dialer(_ dialer: Dialer, didFail failure: TransferFailure) {
        self.dialer = nil
        owner.connectionDidFail(failure)
    }

    func dialerNeedsDescriptor(_ dialer: Dialer) -> Bool { pool.freeDescriptor() }
}

extension DialedConnection: SocketWatcher {
    func socket(_ descriptor: Int32, isReady readiness: SocketReadiness) {
        if readiness.contains(.writable) {
            isWritable = true
            socket?.channel.flush()
        }
        if readiness.tellsOfEnd { hasPeerClosed = true }
        if readiness.contains(.readable) || hasPeerClosed { isReadable = true }
        tellOwner()
    }

    func socket(_ descriptor: Int32, lostAddress address: IPAddress) {
        owner.connectionDidFail(.lostAddress(address))
    }
}

extension DialedConnection: NextIteration {
    func continueWork() { tellOwner() }
}
