// The checks of a trust evaluation.

/// A set of checks for the evaluation of a server's certificates.
///
/// Every policy checks the chain up to an authority first.
public struct TrustPolicy: Sendable, CustomStringConvertible {
    /// A short description of the checks.
    public let description: String
    package let check: @Sendable (ServerTrust) throws(TrustFailure) -> Void

    package init(description: String, check: @escaping @Sendable (ServerTrust) throws(TrustFailure) -> Void) {
        self.description = description
        self.check = check
    }

    /// Checks the chain only.
    public static let chain = TrustPolicy(description: "chain") { (trust) throws(TrustFailure) in
        try trust.evaluateChain()
    }

    /// Checks the chain, and that the leaf is valid for this host (RFC 9110 §4.3.4).
    public static func host(_ host: String) -> TrustPolicy {
        TrustPolicy(description: "chain and host \(host)") { (trust) throws(TrustFailure) in
            try trust.evaluateChain()
            try trust.evaluateHost(host)
        }
    }
}
