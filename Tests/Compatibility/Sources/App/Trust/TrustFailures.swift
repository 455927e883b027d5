import Alamofire
import Foundation

/// Names every reason, without a default.
public func text(of reason: AFError.ServerTrustFailureReason) -> String {
    switch reason {
    case .noRequiredEvaluator(let host): "no evaluator for \(host)"
    case .noCertificatesFound: "no certificates"
    case .noPublicKeysFound: "no keys"
    case .policyApplicationFailed(let trust, let policy, let status): "\(trust) \(policy) \(status)"
    case .settingAnchorCertificatesFailed(let status, let certificates): "\(status) \(certificates.count)"
    case .revocationPolicyCreationFailed: "no policy"
    case .trustEvaluationFailed(let error): error?.localizedDescription ?? "no reason"
    case .defaultEvaluationFailed(let output): text(of: output)
    case .hostValidationFailed(let output): text(of: output)
    case .revocationCheckFailed(let output, let options): "\(text(of: output)) \(options.rawValue)"
    case .certificatePinningFailed(let host, _, let pinned, let found): "\(host) \(pinned.count) \(found.count)"
    case .publicKeyPinningFailed(let host, _, let pinned, let found): "\(host) \(pinned.count) \(found.count)"
    case .customEvaluationFailed(let error): "\(error)"
    }
}

private func text(of output: AFError.ServerTrustFailureReason.Output) -> String {
    "\(output.host) \(output.status) \(output.result.rawValue) \(output.trust.af.certificates.count)"
}
