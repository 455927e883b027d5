// The base class of transports that wrap another transport.

/// Forwards every call to another transport; subclasses override members to change the behaviour.
///
/// A subclass gets each message that the session sends, once. A redirect, an answer of the session to a challenge, and
/// a retry are separate messages. Requests answered by the cache do not reach the transport. A subclass can add fields,
/// refuse or delay a message, and observe the transfer with its own consumer.
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
    // SAFETY: the only stored property is a `let` of `Sendable` type, which the compiler checks for final classes only.

    /// The wrapped transport.
    public let base: any Transport

    /// Wraps a transport; the decorator owns it, and shuts it down in `deinit`.
    public init(_ base: any Transport) {
        self.base = base
    }

    deinit { base.shutDown() }

    /// The wrapped transport's abilities.
    open var abilities: TransportAbilities { base.abilities }
    /// The wrapped transport's options.
    open var options: TransportOptions { base.options }
    /// The wrapped transport's clock.
    open var clock: any SessionClock { base.clock }
    /// The wrapped transport's executor.
    open var executor: (any TaskExecutor)? { base.executor }
    /// The wrapped transport's statistics.
    open var statistics: [OriginStatistics] { base.statistics }

    /// Passes the rules to the wrapped transport.
    open func evaluateServers(with rules: ServerTrustRules) { base.evaluateServers(with: rules) }

    /// Makes a transfer with the wrapped transport.
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
