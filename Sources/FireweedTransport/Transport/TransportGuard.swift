// Decorators of transports.

/// Stands between a session and its transport, and may refuse messages, or send them twice.
///
/// A session hands its messages to its guards after its cache, and before a connection is looked for: stored responses
/// are delivered whatever a guard says. Give one guard to several sessions, and they share what the guard knows.
public protocol TransportGuard: Sendable {
    /// Wraps a transport in one that asks this guard.
    func guarding(_ transport: any Transport) -> any Transport
}
