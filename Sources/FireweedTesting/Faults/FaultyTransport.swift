// A transport that injects faults.

import Dispatch
public import Fireweed
import Foundation
import Synchronization

/// Sends messages through another transport, and injects random but repeatable faults.
///
/// ```swift
/// let transport = FaultyTransport(wrapping: EngineTransport(), faults: [.drop: 0.05, .delay(.seconds(1)): 0.1], seed: 7)
/// let session = Session(transport: transport)
/// ```
///
/// The seed and the order of the messages decide which message gets which fault. The seed is printed when the transport
/// is made, so that a run can be repeated.
public final class FaultyTransport: Transport {
    /// A fault that is injected into one message.
    public enum Fault: Sendable, Hashable {
        /// The message is not sent, and fails with `networkConnectionLost`.
        case drop
        /// The message is sent after this delay.
        case delay(Duration)
        /// The response's content ends after half of its first piece, with `networkConnectionLost`.
        case cut
        /// The message is sent twice, and one of the responses is discarded. WebSockets, and messages whose content is
        /// read from a file or a stream, are sent once.
        case duplicate
        /// The message is not sent, and is answered with this status.
        case status(Int)
        /// The response's content arrives at this many bytes a second: in about ten pieces a second, or below 20 bytes
        /// a second byte by byte.
        case slow(bytesPerSecond: Int)
        /// The message's end is reported after the end of another message, or after one second; without delay when no
        /// other message is in flight.
        case reorder
    }

    /// The seed of the random numbers that choose the faults.
    public let seed: UInt64
    private let base: any Transport
    private let faults: [(fault: Fault, probability: Double)]
    private let random: Mutex<SeededGenerator>
    /// Holds back the ends of messages with the fault `reorder`; `nil` when `faults` has no `reorder`.
    private let order: CompletionOrder?

    /// Wraps a transport.
    ///
    /// - Parameters:
    ///   - base: the transport that sends the messages.
    ///   - faults: the faults and their probabilities, from 0 to 1; a negative probability counts as 0. A message gets
    ///     at most one fault. When the probabilities add up to more than 1, the faults whose descriptions sort last get
    ///     less.
    ///   - seed: the seed of the random numbers that choose the faults; random by default.
    ///   - isPrinted: whether the seed is printed on standard error.
    public convenience init(
        wrapping base: any Transport, faults: [Fault: Double], seed: UInt64 = .random(in: 0 ... .max),
        isPrinted: Bool = true
    ) {
        self.init(wrapping: base, faults: faults, seed: seed) { line in
            if isPrinted { FileHandle.standardError.write(Data(line.utf8)) }
        }
    }

    /// Wraps a transport, and passes the line with the seed to a closure.
    package init(
        wrapping base: any Transport, faults: [Fault: Double], seed: UInt64, printing print: (String) -> Void
    ) {
        self.base = base
        self.faults = faults.map { ($0.key, max(0, $0.value)) }.sorted { "\($0.0)" < "\($1.0)" }
        self.seed = seed
        order = faults.keys.contains(.reorder) ? CompletionOrder(clock: base.clock) : nil
        random = Mutex(SeededGenerator(seed: seed))
        print("FaultyTransport: seed \(seed)\n")
    }

    /// The wrapped transport's abilities.
    public var abilities: TransportAbilities { base.abilities }
    /// The wrapped transport's options.
    public var options: TransportOptions { base.options }
    /// The wrapped transport's clock; delays use it.
    public var clock: any SessionClock { base.clock }
    /// The wrapped transport's executor.
    public var executor: (any TaskExecutor)? { base.executor }
    /// The wrapped transport's statistics.
    public var statistics: [OriginStatistics] { base.statistics }

    /// Passes the rules to the wrapped transport.
    public func evaluateServers(with rules: ServerTrustRules) { base.evaluateServers(with: rules) }
    /// Closes the wrapped transport's idle connections.
    public func closeIdleConnections() { base.closeIdleConnections() }
    /// Shuts the wrapped transport down.
    public func shutDown() { base.shutDown() }

    /// Makes a transfer of the wrapped transport, with a fault or without one.
    public func makeTransfer(of message: RequestMessage, for consumer: any TransferConsumer)
        -> any TransferControl
    {
        let fault = nextFault()
        guard let order else { return transfer(of: message, for: consumer, fault) }
        let ordered = ReorderingConsumer(consumer, isHeld: fault == .reorder, order)
        return ReorderedTransfer(transfer(of: message, for: ordered, fault), ordered)
    }

    private func transfer(of message: RequestMessage, for consumer: any TransferConsumer, _ fault: Fault?)
        -> any TransferControl
    {
        switch fault {
        case nil, .reorder: return base.makeTransfer(of: message, for: consumer)
        case .slow(let rate):
            let slow = SlowConsumer(consumer, bytesPerSecond: rate, clock: clock)
            return SlowTransfer(base.makeTransfer(of: message, for: slow), slow)
        case .drop: return answered(by: .failure(.networkConnectionLost), message, consumer)
        case .status(let status): return answered(by: .status(status), message, consumer)
        case .cut:
            let cutting = CuttingConsumer(consumer)
            let control = base.makeTransfer(of: message, for: cutting)
            cutting.attach(control)
            return control
        case .delay(let delay):
            return LateTransfer(base.makeTransfer(of: message, for: consumer), delay: delay, clock: clock)
        case .duplicate:
            if message.webSocket == nil, !message.content.isRead {
                base.makeTransfer(of: message, for: IgnoringConsumer()).start(Flow(.running, revision: 1))
            }
            return base.makeTransfer(of: message, for: consumer)
        }
    }

    private func nextFault() -> Fault? {
        var rest = random.withLock { Double.random(in: 0..<1, using: &$0) }
        for (fault, probability) in faults {
            if rest < probability { return fault }
            rest -= probability
        }
        return nil
    }

    private func answered(
        by response: MockResponse, _ message: RequestMessage, _ consumer: any TransferConsumer
    ) -> any TransferControl {
        let stubs = Stubs([Stub.any().reply(response)])
        return StubTransfer(
            message: message, consumer: consumer, context: StubContext(answering: stubs, clock: clock))
    }
}
