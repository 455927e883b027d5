import Alamofire
import Foundation

/// Trusts the pins of a company's own authority.
public final class CompanyEvaluator: ServerTrustEvaluating {
    private let anchors: [SecCertificate]

    public init(anchors: [SecCertificate]) {
        self.anchors = anchors
    }

    public func evaluate(_ trust: SecTrust, forHost host: String) throws {
        guard !anchors.isEmpty else { throw AFError.serverTrustEvaluationFailed(reason: .noCertificatesFound) }
        try trust.af.setAnchorCertificates(anchors)
        try trust.af.performDefaultValidation(forHost: host)
        try trust.af.performValidation(forHost: host)
        let serverCertificates = Set(trust.af.certificateData)
        guard !serverCertificates.isDisjoint(with: Set(anchors.af.data)) else {
            throw AFError.serverTrustEvaluationFailed(
                reason: .certificatePinningFailed(
                    host: host, trust: trust, pinnedCertificates: anchors, serverCertificates: trust.af.certificates))
        }
    }
}

/// Looks for keys, and for revocation.
struct KeyEvaluator: ServerTrustEvaluating {
    let keys: [SecKey]

    func evaluate(_ trust: SecTrust, forHost host: String) throws {
        try trust.af.evaluate(afterApplying: SecPolicy.af.hostname(host))
        let policy = try SecPolicy.af.revocation(options: .any)
        try trust.af.apply(policy: policy).af.evaluate()
        for serverKey in trust.af.publicKeys where keys.contains(serverKey) { return }
        throw AFError.serverTrustEvaluationFailed(
            reason: .publicKeyPinningFailed(
                host: host, trust: trust, pinnedKeys: keys, serverKeys: trust.af.publicKeys))
    }
}

/// Makes errors of its own.
struct ReportingEvaluator: ServerTrustEvaluating {
    struct Failure: Error {
        let host: String
        let status: OSStatus
        let result: SecTrustResultType
    }

    func evaluate(_ trust: SecTrust, forHost host: String) throws {
        try trust.af.apply(policy: .af.default)
        do {
            try trust.af.evaluate()
        } catch AFError.serverTrustEvaluationFailed(reason: .trustEvaluationFailed(let error)) {
            print(error?.localizedDescription ?? "")
            throw Failure(host: host, status: -67843, result: .recoverableTrustFailure)
        }
        let more: [any ServerTrustEvaluating] = [DefaultTrustEvaluator(), DisabledTrustEvaluator()]
        try more.evaluate(trust, forHost: host)
    }

    static func succeeded(_ failure: Failure) -> Bool {
        failure.status.af.isSuccess && failure.result.af.isSuccess
    }
}
