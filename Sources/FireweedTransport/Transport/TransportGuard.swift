// Guards, which decorate a transport.

/// Decorates a session's transport, and may refuse messages or send them twice.
///
/// A session's guards get its messages after the cache and before the choice of a connection: stored responses are
/// delivered whatever the guards decide. Sessions with the same guard share its state.
public protocol TransportGuard: Sendable {
    /// Returns a transport that applies this guard and then uses the given transport.
    func guarding(_ transport: any Transport) -> any Transport
}
