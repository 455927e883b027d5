// Certificates that a mock server makes for itself.

import COpenSSL
import Fireweed
import Foundation

/// The certificate of a ``MockServer``, made when the server starts.
///
/// A session of ``MockServer/session(interceptor:serverTrustManager:eventMonitors:)`` accepts ``trusted`` and the
/// revoked certificates, and refuses all other certificates. Only a session with a `RevocationTrustEvaluator` refuses
/// revoked certificates, such as
/// `server.session(serverTrustManager: ServerTrustManager(evaluators: ["localhost": .revocationChecking]))`.
///
/// Each server has an authority of its own.
public enum MockCertificate: Sendable, Hashable, CaseIterable {
    /// Valid, for `localhost` and 127.0.0.1.
    case trusted
    /// Valid until yesterday.
    case expired
    /// Valid from tomorrow on.
    case notYetValid
    /// For another host.
    case wrongHost
    /// With 127.0.0.1 as a DNS name, not as an address; the server's URL has the address (RFC 9110 §4.3.5).
    case addressAsName
    /// With its host only in the common name, and without a `subjectAltName` (RFC 9110 §4.3.4).
    case commonNameOnly
    /// Self-signed.
    case selfSigned
    /// Self-signed, sent before the valid chain of another certificate.
    case selfSignedBeforeOtherChain
    /// Signed by an authority that no client trusts, and that the server sends.
    case untrustedRoot
    /// Signed by an authority that no client knows, and that the server does not send.
    case unknownIssuer
    /// Signed by an intermediate authority that the server does not send.
    case missingIntermediate
    /// Signed by a server's certificate, which is not an authority.
    case issuedByServer
    /// Signed by an intermediate authority that is limited to another domain (name constraints, RFC 5280 §4.2.1.10).
    case nameConstraints
    /// With an RSA key of 1024 bits.
    case weakKey
    /// Signed by an intermediate authority with an RSA key of 1024 bits.
    case weakAuthority
    /// Signed with SHA-1.
    case sha1Signature
    /// For clients, not for servers.
    case clientOnly
    /// Revoked according to the OCSP response that the server staples (RFC 6066 §8).
    case revokedByStapledStatus
    /// Revoked according to the OCSP responder that the certificate names (RFC 6960).
    case revokedByResponder
    /// Revoked according to the revocation list that the certificate names (RFC 5280 §5).
    case revokedByList

    /// Makes the certificate, and its authority.
    func issue() throws -> IssuedCertificate {
        let authority = try GeneratedCertificate(
            "Fireweed test authority", signedBy: nil, GeneratedCertificate.authority)
        let status = isRevoked ? try CertificateStatus(of: authority) : nil
        let chain = try chain(below: authority, status)
        var issued = IssuedCertificate(
            identity: try ServerIdentity(chain), authority: try Certificate(der: authority.der),
            clientAuthority: authority)
        if self == .addressAsName { issued.host = "127.0.0.1" }
        if let status {
            try status.revoke(chain[0])
            issued.statusServer = status.server
            if self == .revokedByStapledStatus { issued.identity.staple(try status.response(about: chain[0])) }
        }
        return issued
    }

    private var isRevoked: Bool {
        switch self {
        case .revokedByStapledStatus, .revokedByResponder, .revokedByList: true
        case .trusted, .expired, .notYetValid, .wrongHost, .addressAsName, .commonNameOnly, .selfSigned,
            .selfSignedBeforeOtherChain, .untrustedRoot, .unknownIssuer, .missingIntermediate, .issuedByServer,
            .nameConstraints, .weakKey, .weakAuthority, .sha1Signature, .clientOnly:
            false
        }
    }

    /// Makes the chain that the server sends, the server's own certificate first.
    private func chain(below authority: GeneratedCertificate, _ status: CertificateStatus?) throws
        -> [GeneratedCertificate]
    {
        var options = GeneratedCertificate.Options()
        switch self {
        case .trusted, .revokedByStapledStatus: break
        case .expired: options.validity = -10 * 86_400 ... -86_400
        case .notYetValid: options.validity = 86_400...10 * 86_400
        case .wrongHost: options.names = "DNS:other.example"
        case .addressAsName: options.names = "DNS:127.0.0.1"
        case .commonNameOnly: options.names = nil
        case .weakKey: options.hasWeakKey = true
        case .sha1Signature: options.usesSHA1 = true
        case .clientOnly: options.purpose = "clientAuth"
        case .revokedByResponder: options.responder = status?.responderURL
        case .revokedByList: options.revocationList = status?.listURL
        case .selfSigned, .selfSignedBeforeOtherChain, .untrustedRoot, .unknownIssuer, .missingIntermediate,
            .issuedByServer, .nameConstraints, .weakAuthority:
            return try unusualChain(below: authority)
        }
        return [try GeneratedCertificate("localhost", signedBy: authority, options)]
    }

    /// Makes a chain that is not just one certificate signed by `authority`.
    private func unusualChain(below authority: GeneratedCertificate) throws -> [GeneratedCertificate] {
        let ordinary = GeneratedCertificate.Options()
        var above = GeneratedCertificate.authority
        switch self {
        case .selfSigned: return [try GeneratedCertificate("localhost", signedBy: nil, ordinary)]
        case .selfSignedBeforeOtherChain:
            return [
                try GeneratedCertificate("localhost", signedBy: nil, ordinary),
                try GeneratedCertificate("localhost", signedBy: authority, ordinary), authority,
            ]
        case .untrustedRoot, .unknownIssuer:
            let stranger = try GeneratedCertificate("Unknown authority", signedBy: nil, above)
            let leaf = try GeneratedCertificate("localhost", signedBy: stranger, ordinary)
            return self == .untrustedRoot ? [leaf, stranger] : [leaf]
        case .issuedByServer:
            above = ordinary
            above.names = "DNS:other.example"
        case .nameConstraints: above.nameConstraints = "permitted;DNS:example.com"
        case .weakAuthority: above.hasWeakKey = true
        default: break
        }
        let issuer = try GeneratedCertificate("Fireweed test intermediate", signedBy: authority, above)
        let leaf = try GeneratedCertificate("localhost", signedBy: issuer, ordinary)
        return self == .missingIntermediate ? [leaf] : [leaf, issuer]
    }
}

/// The certificate of a server, and the authority that issued it.
struct IssuedCertificate {
    let identity: ServerIdentity
    /// The authority that a client has to trust; `nil` for a certificate from files.
    var authority: Certificate?
    /// Issues certificates to clients; `nil` for a server whose certificate comes from files.
    var clientAuthority: GeneratedCertificate?
    /// Serves the certificate's revocation status; `nil` when the certificate is not revoked.
    var statusServer: MockServer?
    /// The host of the server's URLs.
    var host = "localhost"
}
