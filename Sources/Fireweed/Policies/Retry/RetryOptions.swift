// Options of a retry policy beyond Alamofire's rules.

import Foundation

/// Refinements of a ``RetryPolicy``; each is off unless it is set.
public struct RetryOptions: Sendable {
    /// The random part of a computed delay.
    public enum Jitter: Sendable {
        /// No randomness: the computed delay.
        case none
        /// A random delay between zero and the computed one: so clients that failed together do not retry together.
        case full
    }

    /// How a server's `Retry-After` field (RFC 9110 §10.2.3) is treated.
    public enum RetryAfter: Sendable, Equatable {
        /// The field is ignored.
        case ignore
        /// The request waits as long as the field says, in seconds or until a date; the request is not retried when
        /// that time is longer than `upTo`.
        ///
        /// With `Jitter.full`, the jittered delay is added. The status must still be a retryable one: add 429 for
        /// services that use it.
        case obey(upTo: Duration)
    }

    /// Kinds of requests that are retried although their method is not among the policy's retryable ones.
    ///
    /// A request whose method is not idempotent (RFC 9110 §9.2.2), such as POST, might take effect twice: it is retried
    /// only when it is in this set, or when its method is added to the policy.
    public struct Replays: OptionSet, Sendable {
        /// The bits of the set.
        public let rawValue: Int

        /// Makes a set from its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// A request that cannot have reached the server: its host has no address, or no connection was made.
        public static let unsent = Replays(rawValue: 1 << 0)
        /// A request with an `Idempotency-Key` field, by which the server recognises a repeated request.
        public static let keyed = Replays(rawValue: 1 << 1)
    }

    /// The random part of a computed delay; `.none` by default.
    public var jitter: Jitter
    /// How `Retry-After` is treated; `.ignore` by default.
    public var retryAfter: RetryAfter
    /// The longest computed delay; `nil`, the default, sets no limit.
    ///
    /// The limit does not shorten a server's `Retry-After`.
    public var maximumDelay: Duration?
    /// Longest time from the beginning of the first attempt to the beginning of a retry; `nil`, the default, sets no
    /// limit.
    ///
    /// A retry that would begin later does not take place. A running attempt is not ended: use
    /// `timeoutIntervalForResource` or `Request.deadline(_:)` for that.
    public var deadline: Duration?
    /// Limits the retries of many requests together; `nil`, the default, sets no limit.
    ///
    /// Requests are counted when the policy adapts them, so the policy must be an interceptor, not only a retrier.
    public var budget: RetryBudget?
    /// Requests that are retried although their method is not retryable; none by default.
    public var replays: Replays

    /// Makes options.
    ///
    /// - Parameters:
    ///   - jitter: the random part of a computed delay; none by default.
    ///   - retryAfter: how a server's `Retry-After` is treated; ignored by default.
    ///   - maximumDelay: the longest computed delay; `nil`, the default, sets no limit.
    ///   - deadline: longest time from the first attempt's beginning to that of a retry; `nil`, the default, sets no
    ///     limit.
    ///   - budget: limits the retries of many requests together; `nil`, the default, sets no limit.
    ///   - replays: requests that are retried although their method is not retryable; none by default.
    public init(
        jitter: Jitter = .none, retryAfter: RetryAfter = .ignore, maximumDelay: Duration? = nil,
        deadline: Duration? = nil, budget: RetryBudget? = nil, replays: Replays = []
    ) {
        self.jitter = jitter
        self.retryAfter = retryAfter
        self.maximumDelay = maximumDelay
        self.deadline = deadline
        self.budget = budget
        self.replays = replays
    }
}

extension Duration {
    /// The duration in seconds, for Foundation.
    var seconds: TimeInterval {
        TimeInterval(components.seconds) + TimeInterval(components.attoseconds) / 1e18
    }
}
