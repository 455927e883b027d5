// Rules of a server that is not for tests.

/// What a ``MockServer`` does differently that runs for long, for clients of all kinds.
///
/// It makes no tunnels, which would lead every client to the machine's own ports.
package struct ServiceRules: Sendable {
    /// A connection on which no byte moves for so many seconds ends; a WebSocket does not.
    package var idleSeconds: Int
    /// The largest content that is kept in memory, in bytes; a larger one is refused with a 413.
    package var maximumContentByteCount: Int
    /// Decides where the content of a request goes, when its head has arrived; called on the connection's thread.
    package var destination: @Sendable (RecordedRequest) -> ContentDestination

    package init(
        idleSeconds: Int = 300, maximumContentByteCount: Int = 64 << 20,
        destination: @escaping @Sendable (RecordedRequest) -> ContentDestination = { _ in .memory }
    ) {
        self.idleSeconds = idleSeconds
        self.maximumContentByteCount = maximumContentByteCount
        self.destination = destination
    }
}

/// The certificate of a ``MockServer`` that runs for long.
package enum ServiceCertificate: Sendable {
    /// PEM files: the certificate with its chain, and the key with its passphrase, if it is encrypted.
    case files(certificate: String, key: String, passphrase: String?)
    /// A new certificate for these subject alternative names, in OpenSSL's notation, such as `DNS:localhost`.
    case issued(by: KeptAuthority, names: [String])

    func identity() throws -> ServerIdentity {
        switch self {
        case .files(let certificate, let key, let passphrase):
            try ServerIdentity(certificateFile: certificate, keyFile: key, passphrase: passphrase)
        case .issued(let authority, let names): try authority.identity(for: names)
        }
    }
}
