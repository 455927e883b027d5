// The part of a connection's making that comes after the socket.

extension Dialer {
    /// Makes the TLS handshake over a socket that was connected.
    func secure(_ socket: ConnectedSocket, for origin: OriginKey) {
        unsecured = socket
        let made = TLSHandshake(
            with: TLSPeer(origin: origin, settings: tls.settings), over: socket.channel, gate: gate, client: tls,
            context: context, owner: self)
        handshake = made
        made.begin()
    }

    /// Gives the handshake up, and closes its socket.
    func endHandshake() {
        handshake?.abandon()
        handshake = nil
        guard let socket = unsecured else { return }
        unsecured = nil
        context.sockets.willClose(socket.channel.descriptor)
        socket.channel.close()
    }
}

extension Dialer: TLSHandshakeOwner {
    func handshakeIsDone(_ handshake: TLSHandshake, _ stream: TLSStream, speaks version: ApplicationProtocol) {
        guard var socket = unsecured else { return }
        unsecured = nil
        socket.channel = ByteChannel(stream)
        socket.applicationProtocol = version
        socket.secureEnd = context.now
        // The peer's first bytes may have come with its last message of the handshake.
        socket.isReadable = true
        deliver(socket)
    }

    func handshake(_ handshake: TLSHandshake, didFail failure: TransferFailure) {
        fail(failure)
    }

    func handshake(_ handshake: TLSHandshake, outlived gate: TrustGate) {
        endHandshake()
        self.gate = gate
        beginAgain()
    }
}
