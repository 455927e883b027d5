// What a retry policy does beyond the documented rules.

import Foundation

/// Refinements of a `RetryPolicy`; each is off unless it is set.
public struct RetryOptions: Sendable {
    /// What becomes of a computed delay before it is used.
    public enum Jitter: Sendable {
        /// It is used as it is.
        case none
        /// A random delay between zero and the computed one is used: clients that failed together do not come back
        /// together.
        case full
    }

    /// What becomes of a server's `Retry-After` field (RFC 9110 §10.2.3).
    public enum RetryAfter: Sendable, Equatable {
        /// It is not looked at.
        case ignore
        /// The request waits as long as the field says, be it seconds or a date, and is not retried when that is longer
        /// than this.
        ///
        /// With `Jitter.full`, the jittered delay comes on top. The status still has to be a retryable one: add 429 for
        /// services that use it.
        case obey(upTo: Duration)
    }

    /// What is replayed although its method is not among the policy's retryable ones.
    ///
    /// A method that is not idempotent (RFC 9110 §9.2.2), such as POST, might take effect twice; nothing of the kind is
    /// replayed unless it is listed here, or its method is added to the policy.
    public struct Replays: OptionSet, Sendable {
        /// The bits of the set.
        public let rawValue: Int

        /// Makes a set of its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// A request that cannot have reached the server: no address was found for it, or no connection was made.
        public static let unsent = Replays(rawValue: 1 << 0)
        /// A request with an `Idempotency-Key` field, by which the server knows a replay.
        public static let keyed = Replays(rawValue: 1 << 1)
    }

    /// What becomes of a computed delay; `.none` by default.
    public var jitter: Jitter
    /// What becomes of `Retry-After`; `.ignore` by default.
    public var retryAfter: RetryAfter
    /// The longest computed delay; `nil`, the default, sets no limit.
    ///
    /// It does not shorten a server's `Retry-After`.
    public var maximumDelay: Duration?
    /// Longest time from the beginning of the first attempt to the beginning of a retry; `nil`, the default, sets no
    /// limit.
    ///
    /// A retry that would begin later does not take place. An attempt that is on its way is not ended: that is what
    /// `timeoutIntervalForResource` is for.
    public var deadline: Duration?
    /// Bounds the retries of many requests together; `nil`, the default, sets no bound.
    ///
    /// Requests are counted when the policy adapts them, so the policy has to be an interceptor, not only a retrier.
    public var budget: RetryBudget?
    /// What is replayed although its method is not retryable; nothing by default.
    public var replays: Replays

    /// Makes options.
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
