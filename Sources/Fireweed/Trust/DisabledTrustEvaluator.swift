// Trust without any check.

public import FireweedTransport

/// Accepts every server.
///
/// For tests only: an attacker between us and the server can read and change everything.
public final class DisabledTrustEvaluator: ServerTrustEvaluating {
    /// Makes an evaluator.
    public init() {}

    /// `unchecked`.
    public var cachePartition: String? { "unchecked" }

    /// Accepts the server.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {}
}

/// The former name of ``DisabledTrustEvaluator``.
@available(*, deprecated, renamed: "DisabledTrustEvaluator", message: "DisabledEvaluator has been renamed.")
public typealias DisabledEvaluator = DisabledTrustEvaluator
