// A session's rules for server trust.

/// The rules by which a transport judges servers inside the TLS handshake.
public struct ServerTrustRules: Sendable {
    /// Decides whether a server is trusted; throws the reason where it is not.
    ///
    /// Called on the transport's thread, or on another thread for hosts for which `mayWait` is true.
    public var decide: @Sendable (ServerTrust) throws -> Void
    /// Whether `decide` may block for a host, and so must not run on the transport's thread.
    public var mayWait: @Sendable (String) -> Bool
    /// The identity that was given for a host while its trust was decided; `nil` leaves it to the transport's options.
    public var identity: @Sendable (String) -> ClientIdentity?

    /// Makes rules.
    ///
    /// - Parameters:
    ///   - mayWait: whether `decide` may block for a host; by default, it never blocks.
    ///   - identity: the identity that was given for a host; `nil`, the default, leaves it to the transport's options.
    ///   - decide: returns when a server is trusted, and throws the reason when it is not.
    public init(
        mayWait: @escaping @Sendable (String) -> Bool = { _ in false },
        identity: @escaping @Sendable (String) -> ClientIdentity? = { _ in nil },
        decide: @escaping @Sendable (ServerTrust) throws -> Void
    ) {
        self.decide = decide
        self.mayWait = mayWait
        self.identity = identity
    }
}
