// The guard that sends slow messages twice.

public import FireweedTransport
import Foundation
import Synchronization

/// Sends a message a second time when its response is late, and takes the response that comes first.
///
/// Hedging shortens the longest waits when a few responses are slow by chance. A budget limits the additional load. The
/// response whose head comes first is delivered, and the other transfer is cancelled: over HTTP/2 that resets a stream,
/// over HTTP/1.1 it closes a connection. When one of the two fails, the response of the other is delivered.
///
/// Only messages that may be sent twice (RFC 9110 §9.2.2) are hedged: messages with an idempotent method, and messages
/// with an `Idempotency-Key` field. A `PUT` or `DELETE` with a precondition (`If-Match`, `If-None-Match`,
/// `If-Unmodified-Since`, `If`) is hedged only if it has an `Idempotency-Key`: the first message that arrives may
/// change the resource, so that the second message gets a 412 although the request has succeeded. Content that is read
/// from a file or a stream, the messages of a ``DataStreamRequest``, and WebSockets are never hedged. Interim responses
/// and the progress of content are reported together with the head.
///
/// Both messages pass the guards that come later in ``SessionOptions/guards``: put the hedging first, so that a
/// ``ConcurrencyLimit`` counts both. A second message that a guard refuses takes nothing from the budget.
///
/// The durations of responses are forgotten after half a minute. With more than 256 origins, the durations of the least
/// recently used ones are forgotten.
///
/// ```swift
/// let session = Session(options: SessionOptions(guards: [.hedging(), .concurrencyLimit()]))
/// ```
public final class Hedging: TransportGuard {
    /// When a second message is sent.
    public enum Delay: Sendable, Hashable {
        /// After a fixed time.
        case fixed(Duration)
        /// After the 95th percentile of the origin's latencies: the last fifty heads within half a minute.
        ///
        /// Nothing is hedged while fewer than ten latencies are known.
        case percentile95
    }

    /// How many second messages may be sent.
    public struct Budget: Sendable, Hashable {
        /// How many second messages each message adds to the budget; 0.05, one for 20 messages, by default.
        public var ratio = 0.05
        /// How many second messages the budget can hold, and so how many can be sent at once; 10 by default.
        public var burst = 10.0

        /// Makes the default budget.
        public init() {}
    }

    /// The numbers of messages that could be hedged, and of second messages.
    public struct Counts: Sendable, Hashable {
        /// Messages that could have been hedged.
        public internal(set) var messages = 0
        /// Second messages that were sent.
        public internal(set) var hedges = 0
        /// Second messages whose response was delivered.
        public internal(set) var wins = 0
    }

    fileprivate struct State {
        var tokens: RetryBudget.Tokens
        var latencies = OriginStates<LatencyWindow>()
        var counts = Counts()
    }

    private let delay: Delay
    private let state: Mutex<State>
    private let enabled = Atomic(true)

    /// Makes a hedging, which may serve several sessions.
    ///
    /// - Parameters:
    ///   - delay: when a second message is sent; after the 95th percentile of the origin's latencies, by default.
    ///   - budget: how many second messages may be sent.
    public init(after delay: Delay = .percentile95, budget: Budget = Budget()) {
        self.delay = delay
        state = Mutex(
            State(tokens: RetryBudget.Tokens(burst: budget.burst, perRequest: budget.ratio, perSecond: 0, now: 0)))
    }

    /// Whether messages are hedged; true at first.
    ///
    /// You can change it at any time, on any thread. While it is false, no second message is sent.
    public var isEnabled: Bool {
        get { enabled.load(ordering: .relaxed) }
        set { enabled.store(newValue, ordering: .relaxed) }
    }

    /// The counts since this hedging was made.
    public var counts: Counts { state.withLock { $0.counts } }

    /// Returns a transport that hedges messages.
    public func guarding(_ transport: any Transport) -> any Transport {
        GuardedTransport(transport) { [self] message, consumer, base in
            guard mayHedge(message), let origin = message.originText else {
                return base.makeTransfer(of: message, for: consumer)
            }
            return HedgedTransfer(of: message, to: origin, for: consumer, on: base, by: self)
        }
    }
}

extension Hedging {
    /// Notes a message, and returns the nanoseconds after which the message is hedged; `nil` if it is never hedged.
    func begin(_ message: borrowing RequestMessage, origin: String, at now: UInt64) -> UInt64? {
        state.withLock { state in
            state.counts.messages += 1
            state.tokens.noteRequest(at: 0)
            switch delay {
            case .fixed(let duration): return duration.nanoseconds
            case .percentile95: return state.change(origin) { $0.percentile95(at: now) }
            }
        }
    }

    /// Takes a second message from the budget; false when none is left, or when hedging is turned off.
    ///
    /// The caller then reports the fate of that message with `noteHedge`.
    func takeHedge() -> Bool {
        state.withLock { state in
            guard isEnabled, state.tokens.takeRetry(at: 0) else { return false }
            // Marks the second message as sent: unlike a first message, it adds nothing to the budget.
            state.tokens.noteRequest(at: 0)
            return true
        }
    }

    /// Notes the fate of a second message that was taken from the budget.
    func noteHedge(_ fate: HedgeFate) {
        state.withLock { state in
            switch fate {
            case .sent: state.counts.hedges += 1
            case .unneeded: state.tokens.noteRefusal(ofRetry: true)
            case .refused:
                state.counts.hedges -= 1
                state.tokens.noteRefusal(ofRetry: true)
            }
        }
    }

    /// Notes a head that was delivered, `duration` nanoseconds after the first message was started.
    func noteHead(of origin: String, after duration: UInt64, isSecond: Bool, at now: UInt64) {
        state.withLock { state in
            if isSecond { state.counts.wins += 1 }
            state.change(origin) { $0.note(duration, at: now) }
        }
    }

    /// Whether a message may be sent twice at the same time.
    func mayHedge(_ message: borrowing RequestMessage) -> Bool {
        guard isEnabled, !message.isStream else { return false }
        switch message.body {
        case .none, .data: break
        case .reader: return false
        }
        if message.fields.contains("Idempotency-Key") { return true }
        guard Self.idempotentMethods.contains(message.method) else { return false }
        // The first message may change the resource, so that the precondition of the second message fails.
        return HTTPMethod.isSafe(message.method) || !Self.preconditions.contains { message.fields.contains($0) }
    }

    private static let idempotentMethods = Set(HTTPMethod.idempotent.map(\.rawValue))
    /// The preconditions of methods that change a resource: RFC 9110 §13.1, and `If` of RFC 4918 §10.4.
    private static let preconditions = ["If-Match", "If-None-Match", "If-Unmodified-Since", "If"]
}

/// The fate of a second message.
enum HedgeFate {
    case sent
    /// The message was not sent: a response came, or the request ended.
    case unneeded
    /// The message was given to the transport, and a guard or a queue refused it.
    case refused
}

extension Hedging.State {
    fileprivate mutating func change<Result>(_ origin: String, _ body: (inout LatencyWindow) -> Result) -> Result {
        latencies.change(origin, otherwise: { LatencyWindow() }, removing: { _ in true }, body)
    }
}

extension TransportGuard where Self == Hedging {
    /// Makes a hedging, which sends slow messages twice.
    ///
    /// - Parameters:
    ///   - delay: when a second message is sent; after the 95th percentile of the origin's latencies, by default.
    ///   - budget: how many second messages may be sent.
    /// - Returns: a new hedging.
    public static func hedging(
        after delay: Hedging.Delay = .percentile95, budget: Hedging.Budget = Hedging.Budget()
    ) -> Hedging {
        Hedging(after: delay, budget: budget)
    }
}
