// Dialling of one connection: look-up, race of addresses, socket, proxies and TLS.

import CLinux
import Glibc

/// The owner of a dialer; called on the loop's thread, also from inside `Dialer.begin()`.
protocol DialerOwner: AnyObject {
    /// Called when bytes have moved or the socket is connected: the idle time-out starts again.
    func dialerDidProgress(_ dialer: Dialer)
    /// Called when the connection is made; the owner must close it.
    func dialer(_ dialer: Dialer, didConnect socket: ConnectedSocket)
    func dialer(_ dialer: Dialer, didFail failure: TransferFailure)
    /// Called when the process is out of descriptors: releases a descriptor; false if that is not possible.
    func dialerNeedsDescriptor(_ dialer: Dialer) -> Bool
}

/// A connected socket, with the layers above it.
struct ConnectedSocket {
    /// The channel for the connection's bytes: the socket, with TLS if there is any.
    var channel: ByteChannel
    /// The seconds without an acknowledgement after which the kernel drops the connection.
    let userTimeout: Double
    /// The version of HTTP that ALPN has selected, or that is used in clear text.
    var applicationProtocol: ApplicationProtocol
    let address: SocketAddress
    /// When the dialer began, when the first address was known, and when the connection was made.
    let start: LoopInstant
    let lookupEnd: LoopInstant
    let connectEnd: LoopInstant
    /// When the TLS handshake was done; `nil` in clear text.
    var secureEnd: LoopInstant?
    /// Whether bytes or the end of the stream may already wait on the socket.
    var isReadable: Bool
}

/// Makes a socket, as socket(2) does.
typealias SocketOpener = @Sendable (_ family: Int32, _ type: Int32) -> Int32

/// Connects to the addresses of a host (RFC 8305), or to a path, and makes the layers above the socket: proxies and
/// TLS.
///
/// Confined to the loop's thread.
final class Dialer: DeadlineEntry {
    private struct Attempt {
        let descriptor: Int32
        let address: SocketAddress
    }

    let target: DialTarget
    /// The seconds that the kernel waits for an acknowledgement (RFC 5482); the kernel's own limit unless the owner
    /// gave one.
    private let userTimeout: Double
    let context: LoopContext
    let tls: TLSClient
    private let parts: EngineParts
    var resolver: NameResolver { parts.resolver }
    private(set) weak var owner: (any DialerOwner)?

    private var race = HappyEyeballs()
    private var attempts: [Attempt] = []
    private var ticket: NameResolver.LookupID?
    private var tried: [SocketAddress] = []
    private var causes: [(address: SocketAddress, error: Int32)] = []
    private var lookupFailure: LookupFailure?
    private var refusedAddress: IPAddress?
    private let start: LoopInstant
    private var lookupEnd: LoopInstant = 0
    /// The moment at which a path is tried again, since its listener's queue was full; `nil` for none.
    private var retryMoment: LoopInstant?
    /// Whether idle connections of the whole process were closed to free descriptors for this connection.
    private var hasFreedDescriptors = false
    private(set) var isOver = false

    // MARK: Layers

    /// The connected socket with the layers so far, until all layers are made.
    var unfinished: ConnectedSocket?
    /// The index of the next layer in the target's layers.
    var layerIndex = 0
    var tunnel: ProxyTunnel?
    /// The CONNECT handshake that continues on a new connection, since the proxy closes the earlier one; `nil` for
    /// none.
    var connectHandshake: ConnectHandshake?
    var handshake: TLSHandshake?
    /// The trust decision that accepted the peer of an earlier handshake too late: the peer had closed the connection.
    var gate: TrustGate?

    init(
        _ target: DialTarget, userTimeout: Double, context: LoopContext, parts: EngineParts,
        tls: TLSClient, owner: any DialerOwner
    ) {
        self.target = target
        self.userTimeout = userTimeout > 0 ? userTimeout : KeepAlive.kernelTimeout
        self.context = context
        self.parts = parts
        self.tls = tls
        self.owner = owner
        start = context.now
    }

    deinit { abandon() }

    /// Begins to connect; the owner may be called before this returns.
    func begin() {
        switch target.place {
        case .path(let path):
            guard !path.utf8.contains(0) else { return fail(.pathWithNUL) }
            guard path.utf8.count <= SocketAddress.longestPath else { return fail(.pathTooLong(path)) }
            lookupEnd = start
            attempt(.path(path))
        case .host(let host, let port):
            if let known = HostAddresses.known(of: host, overrides: target.overrides) {
                guard !known.isEmpty else { return fail(.nameNotFound(host, .noAddress)) }
                let isAddress = IPAddress(String(host.prefix { $0 != "%" })) != nil
                guard !isAddress || known.contains(where: { $0.family.map(target.families.contains) ?? false }) else {
                    return fail(.otherVersion(host))
                }
                beginRace(known, port)
            } else {
                lookUp(host, port)
            }
        }
        setTimer()
    }

    /// Stops connecting and closes its sockets; the owner gets no further calls.
    func abandon() {
        guard !isOver else { return }
        isOver = true
        context.deadlines.remove(self)
        endRace()
        endLayers()
    }

    /// Connects once more, within the same `connectTimeout`.
    func beginAgain() {
        guard !isOver else { return }
        race = HappyEyeballs()
        (tried, causes) = ([], [])
        begin()
    }

    private func endRace() {
        if let ticket { parts.resolver.cancel(ticket) }
        ticket = nil
        for attempt in attempts { close(attempt) }
        attempts = []
    }

    // MARK: Names

    private func lookUp(_ host: String, _ port: UInt16) {
        let reply = DialerReply(self)
        let outcome = parts.resolver.lookUp(host) { [loop = context.loop] answer in
            loop.post { _ in reply.dialer?.answered(answer, port) }
        }
        switch outcome {
        case .known(let answer): answered(answer, port)
        case .pending(let ticket): self.ticket = ticket
        }
    }

    private func answered(_ answer: NameResolver.Answer, _ port: UInt16) {
        guard !isOver else { return }
        ticket = nil
        switch answer {
        case .addresses(let addresses):
            if lookupEnd == 0 { lookupEnd = context.now }
            beginRace(addresses, port)
        case .failed(let failure):
            lookupFailure = failure
            handle(.answered([]))
        }
        setTimer()
    }

    /// Begins the race with the addresses whose family the target allows.
    private func beginRace(_ addresses: [SocketAddress], _ port: UInt16) {
        let usable = addresses.filter { $0.family.map(target.families.contains) ?? false }
        handle(.answered(usable.map { $0.with(port: port) }))
    }

    // MARK: The race

    private func handle(_ event: HappyEyeballs.Event) {
        var action = race.handle(event, at: context.now)
        // An attempt that fails immediately is handled here, as the next event.
        while !isOver, case .attempt(let address) = action {
            guard !begin(attemptTo: address) else { return }
            action = race.handle(.attemptFailed, at: context.now)
        }
        if action == .fail, !isOver { failWhole() }
    }

    /// Makes the single attempt for a path.
    private func attempt(_ address: SocketAddress) {
        if !begin(attemptTo: address) { failWhole() }
    }

    /// Begins an attempt; false if it has failed already.
    private func begin(attemptTo address: SocketAddress) -> Bool {
        if lookupEnd == 0 { lookupEnd = context.now }
        if case .internet(let bytes, _, _) = address, !target.addressGuard.allows(bytes) {
            refusedAddress = bytes
            return false
        }
        tried.append(address)
        note("Trying \(address.placeText)")
        guard let descriptor = openSocket(address) else {
            causes.append((address, errno))
            return false
        }
        let status = address.withSocketAddress { connect(descriptor, $0, $1) == 0 ? 0 : errno }
        switch status {
        case 0, EINPROGRESS, EINTR:
            let attempt = Attempt(descriptor: descriptor, address: address)
            attempts.append(attempt)
            context.sockets.watchEdges(of: descriptor, for: self)
            if status == 0 { connected(attempt, isReadable: false) }
            return true
        case EAGAIN where address.family == nil:
            // unix(7): the listener's queue is full, and no event reports when it has room. The timer tries again.
            Glibc.close(descriptor)
            retryMoment = context.now + 10_000_000
            return true
        default:
            Glibc.close(descriptor)
            causes.append((address, status))
            return false
        }
    }

    private func openSocket(_ address: SocketAddress) -> Int32? {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        var descriptor = Descriptors.makeSocket { parts.openSocket(address.familyNumber, type) }
        var error = errno
        if descriptor < 0, Descriptors.isExhaustion(error), owner?.dialerNeedsDescriptor(self) == true {
            descriptor = Descriptors.makeSocket { parts.openSocket(address.familyNumber, type) }
            error = errno
        }
        guard descriptor >= 0 else {
            errno = error
            return nil
        }
        guard let family = address.family else { return descriptor }
        if let interface = target.networkInterface {
            let error = LocalEnd.bind(descriptor, to: interface, family: family)
            guard error == 0 else {
                Glibc.close(descriptor)
                errno = error
                return nil
            }
        }
        var on: Int32 = 1
        _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        KeepAlive.enable(on: descriptor)
        KeepAlive.set(userTimeout: userTimeout, on: descriptor)
        return descriptor
    }

    private func connected(_ attempt: Attempt, isReadable: Bool) {
        _ = race.handle(.connected, at: context.now)
        attempts.removeAll { $0.descriptor == attempt.descriptor }
        endRace()
        let socket = ConnectedSocket(
            channel: ByteChannel(descriptor: attempt.descriptor), userTimeout: userTimeout,
            applicationProtocol: target.clearTextProtocol, address: attempt.address, start: start,
            lookupEnd: lookupEnd, connectEnd: context.now, isReadable: isReadable)
        unfinished = socket
        note("Connected to \(attempt.address.placeText)")
        layerDidProgress()
        addLayer()
    }

    /// Hands the complete connection to the owner, or closes it if the owner is gone.
    func deliver(_ socket: ConnectedSocket) {
        abandon()
        guard let owner else {
            context.sockets.willClose(socket.channel.descriptor)
            return socket.channel.close()
        }
        owner.dialer(self, didConnect: socket)
    }

    private func failWhole() {
        if lacksDescriptors, !hasFreedDescriptors {
            hasFreedDescriptors = true
            let reply = DialerReply(self)
            let isAwaited = parts.freeDescriptors { [loop = context.loop] in
                loop.post { _ in reply.dialer?.beginAgain() }
            }
            if isAwaited { return }
        }
        if case .host(let host, _) = target.place, !causes.isEmpty { parts.resolver.forget(host) }
        guard causes.isEmpty else {
            return fail(.notConnected(to: peerText, from: target.networkInterface, causes))
        }
        if let refusedAddress { return fail(.refused(.address(refusedAddress))) }
        let cause = lookupFailure ?? .noAddress
        guard target.isProxied else { return fail(.nameNotFound(placeText, cause)) }
        // The failure is not `nameNotFound`, since the name that was not found is the proxy's, not the origin's.
        fail(.proxyFailed("the proxy's name \(placeText) cannot be looked up: \(cause.text)"))
    }

    func fail(_ failure: TransferFailure) {
        abandon()
        owner?.dialer(self, didFail: failure)
    }

    /// Whether an attempt failed since the process or the system was out of descriptors: it may succeed later, whatever
    /// came of the other addresses.
    var lacksDescriptors: Bool { causes.contains { Descriptors.isExhaustion($0.error) } }

    /// The place for error texts, with the word "proxy" if it is a proxy's.
    private var peerText: String { target.isProxied ? "the proxy \(placeText)" : placeText }

    private var placeText: String {
        switch target.place {
        case .host(let host, _) where causes.isEmpty && tried.isEmpty: host
        case .host(let host, let port): "\(host) port \(port)"
        case .path(let path): path
        }
    }

    private func close(_ attempt: Attempt) {
        context.sockets.willClose(attempt.descriptor)
        context.close(ByteChannel(descriptor: attempt.descriptor))
    }

    // MARK: Time

    private func setTimer() {
        guard !isOver else { return }
        let end = target.timeout.map { start.addingSaturating($0) }
        context.deadlines.set(self, to: [race.wakeUp, retryMoment, end].compactMap { $0 }.min())
    }

    override func timeReached(at now: LoopInstant) {
        guard !isOver else { return }
        if let timeout = target.timeout, start.addingSaturating(timeout) <= now {
            return fail(
                .connectTimedOut(
                    peerText, tried: tried,
                    layer: handshake.map { _ in "the TLS handshake" } ?? tunnel.map { _ in "the tunnel" }))
        }
        if let moment = retryMoment, moment <= now, case .path(let path) = target.place {
            retryMoment = nil
            tried = []
            attempt(.path(path))
        } else {
            handle(.timeReached)
        }
        setTimer()
    }
}

extension Dialer: SocketWatcher {
    func socket(_ descriptor: Int32, isReady readiness: SocketReadiness) {
        guard let index = attempts.firstIndex(where: { $0.descriptor == descriptor }) else { return }
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        _ = getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length)
        guard error != 0 else {
            // The registration itself can raise an event: without `.writable`, the socket is still connecting.
            guard readiness.contains(.writable) else { return }
            return connected(attempts[index], isReadable: readiness.contains(.readable) || readiness.tellsOfEnd)
        }
        attemptFailed(at: index, error)
    }

    func socket(_ descriptor: Int32, lostAddress address: IPAddress) {
        guard let index = attempts.firstIndex(where: { $0.descriptor == descriptor }) else { return }
        attemptFailed(at: index, EADDRNOTAVAIL)
    }

    private func attemptFailed(at index: Int, _ error: Int32) {
        let attempt = attempts.remove(at: index)
        close(attempt)
        causes.append((attempt.address, error))
        if attempt.address.family == nil { failWhole() } else { handle(.attemptFailed) }
        setTimer()
    }
}

/// A weak reference that carries an answer to a dialer.
final class DialerReply: @unchecked Sendable {
    // SAFETY: made and read on the loop's thread only; the resolver merely holds the reference to this object.
    private(set) weak var dialer: Dialer?

    init(_ dialer: Dialer) { self.dialer = dialer }
}
