// The base class of transports that wrap another transport.

/// Forwards everything to another transport; subclasses override members to change the behaviour.
///
/// A subclass gets each message that the session sends, once: redirects, the session's answers to challenges, and
/// retries are messages of their own. Requests answered by the cache do not reach the transport. A subclass can add
/// fields, refuse or delay a message, and observe the transfer with a consumer of its own.
///
/// ```swift
/// import Synchronization
///
/// final class CountingTransport: TransportDecorator, @unchecked Sendable {
///     private let count = Atomic(0)
///
///     override func makeTransfer(
///         of message: consuming RequestMessage, for consumer: any TransferConsumer
///     ) -> any TransferControl {
///         count.add(1, ordering: .relaxed)
///         return super.makeTransfer(of: message, for: consumer)
///     }
/// }
/// ```
open class TransportDecorator: Transport, @unchecked Sendable {
    // SAFETY: not final, so the compiler cannot check it: the one stored property is a `let` of `Sendable` type.

    /// The transport that is wrapped.
    public let base: any Transport

    /// Wraps a transport, which the decorator owns from now on.
    public init(_ base: any Transport) {
        self.base = base
    }

    deinit { base.shutDown() }

    /// The wrapped transport's.
    open var abilities: TransportAbilities { base.abilities }
    /// The wrapped transport's.
    open var options: TransportOptions { base.options }
    /// The wrapped transport's.
    open var clock: any SessionClock { base.clock }
    /// The wrapped transport's.
    open var executor: (any TaskExecutor)? { base.executor }
    /// The wrapped transport's.
    open var statistics: [OriginStatistics] { base.statistics }

    /// Gives the rules to the wrapped transport.
    open func evaluateServers(with rules: ServerTrustRules) { base.evaluateServers(with: rules) }

    /// Makes a transfer of the wrapped transport.
    open func makeTransfer(
        of message: consuming RequestMessage, for consumer: any TransferConsumer
    ) -> any TransferControl {
        base.makeTransfer(of: message, for: consumer)
    }

    /// Closes idle connections of the wrapped transport.
    open func closeIdleConnections() { base.closeIdleConnections() }

    /// Shuts the wrapped transport down.
    open func shutDown() { base.shutDown() }
}
