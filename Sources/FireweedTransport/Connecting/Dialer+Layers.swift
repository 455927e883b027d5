// The layers that a dialer makes above the socket: proxies and TLS.

extension Dialer {
    /// Makes the next layer above the existing ones; after the last layer, the connection is complete.
    func addLayer(rest: [UInt8] = []) {
        guard let socket = unfinished, !isOver else { return }
        guard layerIndex < target.layers.count else {
            guard rest.isEmpty else { return fail(.proxyFailed("bytes came through the tunnel before the request")) }
            unfinished = nil
            return deliver(socket)
        }
        switch target.layers[layerIndex] {
        case .proxyTLS(let proxy):
            secure(socket, with: TLSPeer(proxy: proxy, settings: tls.settings), gate: nil, rest: rest)
        case .originTLS(let key):
            let peer = TLSPeer(
                host: key.host, port: key.port, settings: tls.settings, isLimitedToHTTP1: target.isLimitedToHTTP1)
            secure(socket, with: peer, gate: gate, rest: rest)
        case .connect(let proxy, let host, let port): connect(socket, proxy, host, port)
        case .socks(let proxy, let scheme, let host, let port): lookUpForProxy(proxy, scheme, host, port)
        }
    }

    /// Abandons the layers and closes the socket.
    func endLayers() {
        handshake?.abandon()
        handshake = nil
        tunnel?.abandon()
        tunnel = nil
        layerIndex = 0
        guard let socket = unfinished else { return }
        unfinished = nil
        context.sockets.willClose(socket.channel.descriptor)
        context.close(socket.channel)
    }

    /// Passes a note about progress to the wire observer, if there is one.
    func note(_ text: @autoclosure () -> String) {
        tls.settings.options.wireObserver?.didNote(text() + "\n")
    }

    /// Notifies the owner that bytes of a proxy or of a TLS handshake have moved.
    func layerDidProgress() {
        owner?.dialerDidProgress(self)
    }

    private func secure(_ socket: ConnectedSocket, with peer: TLSPeer, gate: TrustGate?, rest: [UInt8]) {
        let made = TLSHandshake(
            with: peer, over: socket.channel, gate: gate, client: tls, context: context, owner: self)
        handshake = made
        made.begin(records: rest)
    }

    // MARK: Tunnels

    private func connect(_ socket: ConnectedSocket, _ proxy: Proxy, _ host: String, _ port: UInt16) {
        let authority = host.contains(":") ? "[\(host)]" : host
        do throws(TransferFailure) {
            if let connectHandshake { return begin(.connect(connectHandshake), over: socket) }
            // Base64 makes the credentials a third longer, and they must fit into a head.
            let credentialByteCount = 4 * ((proxy.user?.utf8.count ?? 0) + (proxy.password?.utf8.count ?? 0)) / 3
            guard credentialByteCount < HTTP1RequestWriter.maximumHeadByteCount else {
                throw .longHead(credentialByteCount)
            }
            let options = tls.settings.options
            var made = ConnectHandshake(
                to: try RequestTarget("https://\(authority):\(port)/"),
                credentials: target.tunnelLines.isEmpty ? proxy.credentials : nil, extraLines: target.tunnelLines,
                limits: ResponseLimits(options))
            made.reuseDigest(of: target.digests, for: proxy.name)
            // The CONNECT exchange for a WebSocket is not reported, like its handshake (see `WireObserver`).
            if !target.isForUpgrade { made.observer = options.wireObserver }
            begin(.connect(made), over: socket)
        } catch {
            fail(error)
        }
    }

    private func begin(_ handshake: ProxyTunnel.Handshake, over socket: ConnectedSocket) {
        let made = ProxyTunnel(handshake, over: socket.channel, context: context, owner: self)
        tunnel = made
        made.begin()
    }

    /// Looks up the origin's name, unless the proxy does so, and begins the SOCKS handshake.
    private func lookUpForProxy(_ proxy: Proxy, _ scheme: Proxy.Scheme, _ host: String, _ port: UInt16) {
        let proxyLooksUp = scheme == .socks4a || scheme == .socks5h
        let known = HostAddresses.known(of: host, overrides: target.overrides)
        guard proxyLooksUp, IPAddress(host) == nil else {
            if let known { return socks(proxy, scheme, known, port) }
            return lookUp(host, port, for: proxy, scheme)
        }
        guard target.addressGuard == .none else {
            return fail(
                .proxyFailed("the proxy looks the host up, so that the session's address guard cannot see its address"))
        }
        begin(scheme, proxy, .name(host, port: port))
    }

    private func lookUp(_ host: String, _ port: UInt16, for proxy: Proxy, _ scheme: Proxy.Scheme) {
        let reply = DialerReply(self)
        let outcome = resolver.lookUp(host) { [loop = context.loop] answer in
            loop.post { _ in reply.dialer?.lookedUpForProxy(answer, proxy, scheme, host, port) }
        }
        if case .known(let answer) = outcome { lookedUpForProxy(answer, proxy, scheme, host, port) }
    }

    private func lookedUpForProxy(
        _ answer: NameResolver.Answer, _ proxy: Proxy, _ scheme: Proxy.Scheme, _ host: String, _ port: UInt16
    ) {
        guard !isOver else { return }
        switch answer {
        case .addresses(let addresses): socks(proxy, scheme, addresses, port)
        case .failed(let failure): fail(.nameNotFound(host, failure))
        }
    }

    private func socks(_ proxy: Proxy, _ scheme: Proxy.Scheme, _ addresses: [SocketAddress], _ port: UInt16) {
        // SOCKS 4 has no IPv6.
        let families: [AddressFamily] = scheme == .socks4 ? [.ipv4] : [.ipv4, .ipv6]
        let fitting = families.compactMap { family in addresses.first { $0.family == family } }.first
        guard case .internet(let bytes, _, _) = fitting else {
            return fail(.proxyFailed("the host has no address that the SOCKS proxy can be told"))
        }
        guard target.addressGuard.allows(bytes) else { return fail(.refused(.address(bytes))) }
        begin(scheme, proxy, .address(bytes, port: port))
    }

    private func begin(_ scheme: Proxy.Scheme, _ proxy: Proxy, _ destination: SOCKSHandshake.Destination) {
        guard let socket = unfinished else { return }
        do throws(TransferFailure) {
            let made = try SOCKSHandshake(scheme, to: destination, user: proxy.user, password: proxy.password)
            begin(.socks(made), over: socket)
        } catch {
            fail(error)
        }
    }
}

extension Dialer: TLSHandshakeOwner {
    func handshakeIsDone(_ handshake: TLSHandshake, _ stream: TLSStream, speaks version: ApplicationProtocol) {
        guard var socket = unfinished else { return }
        self.handshake = nil
        socket.channel = ByteChannel(stream)
        if case .originTLS = target.layers[layerIndex] { socket.applicationProtocol = version }
        note("TLS is agreed on: \(stream.report.map { "\($0.version), \($0.cipher)" } ?? ""), \(version.name)")
        socket.secureEnd = context.now
        // The socket counts as readable, since the peer's first bytes may have come with its last message of the
        // handshake.
        socket.isReadable = true
        unfinished = socket
        layerIndex += 1
        addLayer()
    }

    func handshake(_ handshake: TLSHandshake, didFail failure: TransferFailure) {
        fail(failure)
    }

    func handshake(_ handshake: TLSHandshake, outlived gate: TrustGate) {
        endLayers()
        self.gate = gate
        beginAgain()
    }
}

extension Dialer: ProxyTunnelOwner {
    func tunnelIsMade(_ tunnel: ProxyTunnel, rest: [UInt8]) {
        self.tunnel = nil
        note("The tunnel through the proxy is made")
        layerIndex += 1
        unfinished?.isReadable = true
        addLayer(rest: rest)
    }

    func tunnel(_ tunnel: ProxyTunnel, didFail failure: TransferFailure) {
        fail(failure)
    }

    func tunnel(_ tunnel: ProxyTunnel, needsConnectionFor handshake: ConnectHandshake) {
        endLayers()
        connectHandshake = handshake
        beginAgain()
    }
}
