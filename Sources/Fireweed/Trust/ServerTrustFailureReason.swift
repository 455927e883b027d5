// Why a server is not trusted.

public import FireweedTransport

extension AFError {
    /// Why a server is not trusted, with the chain that it showed.
    public enum ServerTrustFailureReason: Sendable {
        /// The host has no evaluator, and the manager wants one for each.
        case noRequiredEvaluator(host: String)
        /// There are no certificates to pin.
        case noCertificatesFound
        /// There are no keys to pin.
        case noPublicKeysFound
        /// The authorities do not vouch for the chain.
        case defaultEvaluationFailed(trust: ServerTrust, error: any Error)
        /// The certificate is not for this host.
        case hostValidationFailed(trust: ServerTrust, host: String)
        /// None of the chain's certificates is pinned.
        case certificatePinningFailed(host: String, trust: ServerTrust, pinnedCertificates: [Certificate])
        /// None of the chain's keys is pinned.
        case publicKeyPinningFailed(host: String, trust: ServerTrust, pinnedKeys: [PublicKey])
        /// A custom evaluator failed.
        case customEvaluationFailed(error: any Error)
    }
}

extension AFError.ServerTrustFailureReason {
    var underlyingError: (any Error)? {
        switch self {
        case .defaultEvaluationFailed(_, let error), .customEvaluationFailed(let error): error
        case .noRequiredEvaluator, .noCertificatesFound, .noPublicKeysFound, .hostValidationFailed,
            .certificatePinningFailed, .publicKeyPinningFailed:
            nil
        }
    }

    var plainText: String {
        switch self {
        case .noRequiredEvaluator(let host): "there is no evaluator for \(host), and every host must have one."
        case .noCertificatesFound: "there are no certificates to pin."
        case .noPublicKeysFound: "there are no keys to pin."
        case .defaultEvaluationFailed(let trust, let error):
            "the authorities do not vouch for the certificates of \(trust.host) (\(error))."
        case .hostValidationFailed(_, let host): "its certificate is not for \(host)."
        case .certificatePinningFailed(let host, _, _): "none of the certificates of \(host) is pinned."
        case .publicKeyPinningFailed(let host, _, _): "none of the keys of \(host) is pinned."
        case .customEvaluationFailed(let error): "\(error)"
        }
    }
}
