// A session's rules for server trust.

/// The rules with which a transport evaluates servers during the TLS handshake.
public struct ServerTrustRules: Sendable {
    /// Returns if a server is trusted, and otherwise throws the reason.
    ///
    /// Called on the transport's thread, or on another thread for hosts for which `mayWait` is true.
    public var decide: @Sendable (ServerTrust) throws -> Void
    /// Whether `decide` may block for a host, and so must not run on the transport's thread.
    public var mayWait: @Sendable (String) -> Bool
    /// The client identity that an evaluator chose for a host while it decided; `nil` uses the transport's options.
    public var identity: @Sendable (String) -> ClientIdentity?

    /// Makes rules.
    ///
    /// - Parameters:
    ///   - mayWait: whether `decide` may block for a host; by default, it never blocks.
    ///   - identity: the client identity that an evaluator chose for a host; by default `nil`, which uses the
    ///     transport's options.
    ///   - decide: returns if a server is trusted, and otherwise throws the reason.
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
