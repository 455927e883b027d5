// The reasons why a chain is not trusted.

public import Foundation

/// Why a certificate chain is not trusted.
///
/// The certificate in a case is the one at fault.
public enum TrustFailure: Error, Sendable, Hashable {
    /// The server sent no certificate that can be read.
    case noCertificate
    /// The authorities could not be read, so no chain can be trusted.
    case authoritiesUnreadable(reason: String)
    /// The leaf is self-signed, and is not an authority here.
    case selfSigned(Certificate)
    /// The chain ends in a root that is not an authority here.
    case untrustedRoot(Certificate)
    /// The issuer of this certificate was not found: an intermediate is missing, or the authority is unknown.
    case unknownIssuer(Certificate)
    /// The certificate has expired, or its end date cannot be read.
    case expired(Certificate)
    /// The certificate is not yet valid, or its start date cannot be read.
    case notYetValid(Certificate)
    /// The leaf is not valid for `host`, only for `names`.
    case hostMismatch(host: String, names: [SubjectAlternativeName])
    /// The key is too short for the security level.
    case weakKey(Certificate)
    /// The certificate is signed with a hash that is too weak for the security level, such as SHA-1.
    case weakSignature(Certificate)
    /// The signature does not match the certificate, or cannot be checked.
    case invalidSignature(Certificate)
    /// The certificate must not be used for a TLS server.
    case unsuitablePurpose(Certificate)
    /// The certificate must not issue certificates, or the chain below it is longer than it permits.
    case invalidAuthority(Certificate)
    /// An authority above the certificate is not permitted to certify its names (RFC 5280 §4.2.1.10).
    case forbiddenName(Certificate)
    /// The issuer has revoked the certificate.
    case revoked(Certificate)
    /// The revocation status of the certificate is unknown; `reason` says why.
    case unknownRevocation(Certificate, reason: String)
    /// The certificate has a form that breaks RFC 5280; `reason` is OpenSSL's text.
    case malformed(Certificate, reason: String)
    /// The verification itself failed, for example for lack of memory; `code` and `reason` are OpenSSL's.
    case internalFailure(code: Int, reason: String)

    /// The `URLError` code with which a request fails.
    ///
    /// As in Apple's URLSession, a certificate outside its dates is `serverCertificateUntrusted`, since another attempt
    /// would find the same certificate. An unknown authority is `serverCertificateHasUnknownRoot`.
    public var urlErrorCode: URLError.Code {
        switch self {
        case .selfSigned, .untrustedRoot, .unknownIssuer, .authoritiesUnreadable: .serverCertificateHasUnknownRoot
        case .noCertificate, .expired, .notYetValid, .hostMismatch, .weakKey, .weakSignature, .invalidSignature,
            .unsuitablePurpose,
            .invalidAuthority, .forbiddenName, .revoked, .unknownRevocation, .malformed, .internalFailure:
            .serverCertificateUntrusted
        }
    }
}

extension TrustFailure: CustomStringConvertible, LocalizedError {
    /// A sentence that says what is wrong, and with which certificate.
    public var description: String {
        switch self {
        case .noCertificate: "the server showed no certificate that can be read"
        case .authoritiesUnreadable(let reason): "the certification authorities cannot be read: \(reason)"
        case .selfSigned(let leaf): "“\(leaf.subject)” is self-signed"
        case .untrustedRoot(let root): "the chain ends in “\(root.subject)”, which is not trusted"
        case .unknownIssuer(let certificate):
            "the issuer of the certificate “\(certificate.subject)” is not known: “\(certificate.issuer)”"
        case .expired(let certificate):
            "“\(certificate.subject)” has expired on \(certificate.notAfter.formatted(.iso8601))"
        case .notYetValid(let certificate):
            "“\(certificate.subject)” is not valid before \(certificate.notBefore.formatted(.iso8601))"
        case .hostMismatch(let host, let names):
            "the certificate is not for \(host), but for \(Self.list(of: names))"
        case .weakKey(let certificate): "the key of “\(certificate.subject)” is too short"
        case .weakSignature(let certificate):
            "the signature of “\(certificate.subject)” is too weak: \(certificate.signatureAlgorithm)"
        case .invalidSignature(let certificate): "the signature of “\(certificate.subject)” is not valid"
        case .unsuitablePurpose(let certificate): "“\(certificate.subject)” is not for TLS servers"
        case .invalidAuthority(let certificate): "“\(certificate.subject)” must not issue this chain"
        case .forbiddenName(let certificate):
            "the authorities above “\(certificate.subject)” must not vouch for its names"
        case .revoked(let certificate): "“\(certificate.subject)” is revoked"
        case .unknownRevocation(let certificate, let reason):
            "whether “\(certificate.subject)” is revoked cannot be told: \(reason)"
        case .malformed(let certificate, let reason): "“\(certificate.subject)” is malformed: \(reason)"
        case .internalFailure(let code, let reason): "the chain could not be verified: \(reason) (\(code))"
        }
    }

    /// The description.
    public var errorDescription: String? { description }

    /// Returns the first 20 names, since a certificate may have thousands.
    private static func list(of names: [SubjectAlternativeName]) -> String {
        let shown = names.prefix(20).map(\.description).joined(separator: ", ")
        return names.count > 20 ? "\(shown), and \(names.count - 20) more" : shown
    }
}
