// Guards that decorate a transport.

/// Decorates a session's transport, and may refuse messages or send them twice.
///
/// A session's guards get its messages after the cache and before the search for a connection: stored responses are
/// delivered whatever a guard decides. Sessions that have the same guard share its state.
public protocol TransportGuard: Sendable {
    /// Wraps a transport in one that applies this guard.
    func guarding(_ transport: any Transport) -> any Transport
}
