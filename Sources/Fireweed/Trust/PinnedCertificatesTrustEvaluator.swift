// Certificate pinning.

public import FireweedTransport
public import Foundation

/// Accepts servers whose chain has one of the given certificates.
///
/// The pin may be the server's own certificate, an intermediate or the root. A certificate that the server sends
/// additionally, outside the chain, does not count.
///
/// ```swift
/// let pins = try Certificate.all(in: URL(filePath: "/etc/myapp/pins"))
/// let manager = ServerTrustManager(evaluators: ["api.example.com": .pinnedCertificates(certificates: pins)])
/// ```
public final class PinnedCertificatesTrustEvaluator: ServerTrustEvaluating {
    private let certificates: [Certificate]
    private let acceptSelfSignedCertificates: Bool
    private let performDefaultValidation: Bool
    private let validateHost: Bool

    /// Makes an evaluator.
    ///
    /// - Parameters:
    ///   - certificates: the pins, by default those in the main bundle; without any, every evaluation fails.
    ///   - acceptSelfSignedCertificates: take the pins as authorities instead of the session's, for this handshake and
    ///     also for evaluators that run after this one; false by default.
    ///   - performDefaultValidation: check the chain up to an authority.
    ///   - validateHost: check that the certificate is for the host.
    public init(
        certificates: [Certificate] = Bundle.main.af.certificates, acceptSelfSignedCertificates: Bool = false,
        performDefaultValidation: Bool = true, validateHost: Bool = true
    ) {
        self.certificates = certificates
        self.acceptSelfSignedCertificates = acceptSelfSignedCertificates
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
    }

    /// The checks, and a digest of the pins.
    public var cachePartition: String? {
        "certificates \(CachePartition.digest(certificates))" + (acceptSelfSignedCertificates ? " self-signed" : "")
            + CachePartition.checks(performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }

    /// Throws `.noCertificatesFound`, `.certificatePinningFailed`, or `.trustEvaluationFailed(error:)` around a
    /// `TrustFailure`.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        guard !certificates.isEmpty else { throw AFError.serverTrustEvaluationFailed(reason: .noCertificatesFound) }
        if acceptSelfSignedCertificates { trust.setAnchors(certificates) }
        let chain = try trust.checkedChain(
            performDefaultValidation: performDefaultValidation, validateHost: validateHost, host: host)
        guard Set(chain).isDisjoint(with: certificates) else { return }
        throw AFError.serverTrustEvaluationFailed(
            reason: .certificatePinningFailed(
                host: host, trust: trust, pinnedCertificates: certificates, serverCertificates: chain))
    }
}

extension ServerTrustEvaluating where Self == PinnedCertificatesTrustEvaluator {
    /// Accepts servers whose chain has one of the main bundle's certificates.
    public static var pinnedCertificates: PinnedCertificatesTrustEvaluator { PinnedCertificatesTrustEvaluator() }

    /// Accepts servers whose chain has one of the given certificates.
    ///
    /// - Parameters:
    ///   - certificates: the pins, by default those in the main bundle; without any, every evaluation fails.
    ///   - acceptSelfSignedCertificates: whether the pins are the authorities, instead of the session's; false by
    ///     default.
    ///   - performDefaultValidation: whether the chain is checked up to an authority; true by default.
    ///   - validateHost: whether the certificate must be for the host; true by default.
    /// - Returns: the evaluator.
    public static func pinnedCertificates(
        certificates: [Certificate] = Bundle.main.af.certificates, acceptSelfSignedCertificates: Bool = false,
        performDefaultValidation: Bool = true, validateHost: Bool = true
    ) -> PinnedCertificatesTrustEvaluator {
        PinnedCertificatesTrustEvaluator(
            certificates: certificates, acceptSelfSignedCertificates: acceptSelfSignedCertificates,
            performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }
}
