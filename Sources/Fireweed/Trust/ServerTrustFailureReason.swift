// Reasons why a server is not trusted.

public import FireweedTransport

extension AFError {
    /// Why a server is not trusted.
    public enum ServerTrustFailureReason: Sendable {
        /// The result of a check of one server.
        public struct Output: Sendable {
            /// The host that was asked for.
            public let host: String
            /// The chain that was evaluated.
            public let trust: ServerTrust
            /// The reason of the failure.
            public let failure: TrustFailure

            /// Zero when the certificates could be evaluated; another code when the evaluation itself was not possible.
            public var status: Int32 { failure.evaluationStatus }
            /// The result in the terms of Apple's Security framework.
            public var result: TrustResult { failure.evaluationResult }
        }

        /// The host has no evaluator, and the manager requires one for each host.
        case noRequiredEvaluator(host: String)
        /// There are no certificates to pin.
        case noCertificatesFound
        /// There are no keys to pin.
        case noPublicKeysFound
        /// A policy could not be applied. Fireweed never reports it; the case exists for a `switch` over all reasons.
        case policyApplicationFailed(trust: ServerTrust, policy: TrustPolicy, status: Int32)
        /// Anchors could not be set. Fireweed never reports it; the case exists for a `switch` over all reasons.
        case settingAnchorCertificatesFailed(status: Int32, certificates: [Certificate])
        /// A revocation policy could not be made. Fireweed never reports it; the case exists for a `switch` over all
        /// reasons.
        case revocationPolicyCreationFailed
        /// A check of the chain, of the host or of the revocation status failed; the error is a `TrustFailure`.
        case trustEvaluationFailed(error: (any Error)?)
        /// The chain is not trusted. Fireweed reports ``trustEvaluationFailed(error:)`` instead; the case exists for a
        /// `switch` over all reasons.
        case defaultEvaluationFailed(output: Output)
        /// The certificate is not for this host. Fireweed reports ``trustEvaluationFailed(error:)`` instead.
        case hostValidationFailed(output: Output)
        /// A certificate is revoked. Fireweed reports ``trustEvaluationFailed(error:)`` instead.
        case revocationCheckFailed(output: Output, options: RevocationTrustEvaluator.Options)
        /// None of the chain's certificates is pinned.
        case certificatePinningFailed(
            host: String, trust: ServerTrust, pinnedCertificates: [Certificate], serverCertificates: [Certificate])
        /// None of the chain's keys is pinned.
        case publicKeyPinningFailed(
            host: String, trust: ServerTrust, pinnedKeys: [PublicKey], serverKeys: [PublicKey])
        /// A custom evaluator failed, or none of the chain's keys has a pinned hash (``PublicKeyPinError``).
        case customEvaluationFailed(error: any Error)
    }
}

extension AFError.ServerTrustFailureReason {
    var underlyingError: (any Error)? {
        switch self {
        case .defaultEvaluationFailed(let output), .hostValidationFailed(let output),
            .revocationCheckFailed(let output, _):
            output.failure
        case .customEvaluationFailed(let error): error
        case .trustEvaluationFailed(let error): error
        case .noRequiredEvaluator, .noCertificatesFound, .noPublicKeysFound, .policyApplicationFailed,
            .settingAnchorCertificatesFailed, .revocationPolicyCreationFailed, .certificatePinningFailed,
            .publicKeyPinningFailed:
            nil
        }
    }

    var plainText: String {
        switch self {
        case .noRequiredEvaluator(let host): "there is no evaluator for \(host), and every host must have one."
        case .noCertificatesFound: "there are no certificates to pin."
        case .noPublicKeysFound: "there are no keys to pin."
        case .defaultEvaluationFailed(let output):
            "the authorities do not vouch for the certificates of \(output.host): \(output.failure)."
        case .hostValidationFailed(let output): "\(output.failure)."
        case .revocationCheckFailed(let output, _): "\(output.host) did not pass: \(output.failure)."
        case .certificatePinningFailed(let host, _, _, let found):
            "none of the certificates of \(host) is pinned (\(found.map(\.subject).joined(separator: "; ")))."
        case .publicKeyPinningFailed(let host, _, _, let found):
            "none of the keys of \(host) is pinned (\(found.map(\.pin.description).joined(separator: ", ")))."
        case .policyApplicationFailed(let trust, let policy, let status):
            "the policy “\(policy)” could not be applied for \(trust.host) (\(status))."
        case .settingAnchorCertificatesFailed(let status, let certificates):
            "\(certificates.count) certificates could not be made authorities (\(status))."
        case .revocationPolicyCreationFailed: "no policy for revocation checks could be made."
        case .trustEvaluationFailed(let error):
            error.map { "\($0.plainText)." } ?? "the evaluation failed without a reason."
        case .customEvaluationFailed(let error): error.plainText
        }
    }
}
