// Certificates that a mock server makes for itself.

import COpenSSL
import Fireweed
import Foundation

/// The certificate of a ``MockServer``, made when the server starts; all but ``trusted`` have to be refused.
///
/// Each server has an authority of its own. A session of
/// ``MockServer/session(interceptor:serverTrustManager:eventMonitors:)`` trusts it.
public enum MockCertificate: Sendable, Hashable, CaseIterable {
    /// Right in every way, for `localhost` and 127.0.0.1.
    case trusted
    /// Valid until yesterday.
    case expired
    /// Valid from tomorrow on.
    case notYetValid
    /// For another host.
    case wrongHost
    /// Signed by itself.
    case selfSigned
    /// Signed by an authority that nobody trusts.
    case untrustedRoot
    /// Signed by an intermediate authority that the server does not show.
    case missingIntermediate
    /// With an RSA key of 1024 bits.
    case weakKey
    /// Signed with SHA-1.
    case sha1Signature
    /// For clients, not for servers.
    case clientOnly

    /// Makes the certificate, and its authority.
    func issue() throws -> IssuedCertificate {
        let authority = try MadeCertificate(
            "Fireweed test authority", signedBy: nil, MadeCertificate.authority)
        var options = MadeCertificate.Options()
        var issuer = authority
        switch self {
        case .trusted: break
        case .expired: options.validity = -10 * 86_400 ... -86_400
        case .notYetValid: options.validity = 86_400...10 * 86_400
        case .wrongHost: options.names = "DNS:other.example"
        case .selfSigned:
            return try issued(try MadeCertificate("localhost", signedBy: nil, options), authority)
        case .untrustedRoot:
            issuer = try MadeCertificate("Unknown authority", signedBy: nil, MadeCertificate.authority)
        case .missingIntermediate:
            issuer = try MadeCertificate(
                "Fireweed test intermediate", signedBy: authority, MadeCertificate.authority)
        case .weakKey: options.hasWeakKey = true
        case .sha1Signature: options.usesSHA1 = true
        case .clientOnly: options.purpose = "clientAuth"
        }
        return try issued(try MadeCertificate("localhost", signedBy: issuer, options), authority)
    }

    private func issued(_ leaf: MadeCertificate, _ authority: MadeCertificate) throws
        -> IssuedCertificate
    {
        IssuedCertificate(
            identity: try ServerIdentity(leaf), authority: try Certificate(der: authority.der))
    }
}

/// What a server shows, and who vouches for it.
struct IssuedCertificate {
    let identity: ServerIdentity
    let authority: Certificate
}

/// A certificate and its key.
final class MadeCertificate {
    struct Options {
        /// Seconds from now.
        var validity = -3600...30 * 86_400
        var names: String? = "DNS:localhost,IP:127.0.0.1"
        var purpose: String? = "serverAuth"
        var isAuthority = false
        var hasWeakKey = false
        var usesSHA1 = false
    }

    static let authority = Options(names: nil, purpose: nil, isAuthority: true)

    let certificate: OpaquePointer
    let key: OpaquePointer

    /// Makes a certificate; it is signed by itself when there is no issuer.
    init(_ name: String, signedBy issuer: MadeCertificate?, _ options: Options) throws {
        guard let key = Self.makeKey(isWeak: options.hasWeakKey), let certificate = X509_new() else {
            throw MockServerError(description: "OpenSSL cannot make a key")
        }
        self.key = key
        self.certificate = certificate
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), Int.random(in: 1...Int(Int32.max)))
        X509_gmtime_adj(X509_getm_notBefore(certificate), options.validity.lowerBound)
        X509_gmtime_adj(X509_getm_notAfter(certificate), options.validity.upperBound)
        X509_set_pubkey(certificate, key)
        let subject = X509_get_subject_name(certificate)
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, name, -1, -1, 0)
        X509_set_issuer_name(certificate, X509_get_subject_name(issuer?.certificate ?? certificate))
        try add(NID_basic_constraints, options.isAuthority ? "critical,CA:TRUE" : "critical,CA:FALSE")
        if options.isAuthority { try add(NID_key_usage, "critical,keyCertSign,cRLSign") }
        if let names = options.names { try add(NID_subject_alt_name, names) }
        if let purpose = options.purpose { try add(NID_ext_key_usage, purpose) }
        let digest = options.usesSHA1 ? EVP_sha1() : EVP_sha256()
        guard X509_sign(certificate, issuer?.key ?? key, digest) > 0 else {
            throw MockServerError(description: "OpenSSL cannot sign a certificate")
        }
    }

    deinit {
        X509_free(certificate)
        EVP_PKEY_free(key)
    }

    private func add(_ extensionNumber: Int32, _ value: String) throws {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, certificate, certificate, nil, nil, 0)
        guard let made = X509V3_EXT_conf_nid(nil, &context, extensionNumber, value) else {
            throw MockServerError(description: "OpenSSL cannot make the extension \(value)")
        }
        X509_add_ext(certificate, made, -1)
        X509_EXTENSION_free(made)
    }

    private static func makeKey(isWeak: Bool) -> OpaquePointer? {
        guard let context = EVP_PKEY_CTX_new_id(isWeak ? EVP_PKEY_RSA : EVP_PKEY_EC, nil) else {
            return nil
        }
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_keygen_init(context) > 0 else { return nil }
        let isSet =
            isWeak
            ? EVP_PKEY_CTX_set_rsa_keygen_bits(context, 1024)
            : EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1)
        var key: OpaquePointer?
        guard isSet > 0, EVP_PKEY_keygen(context, &key) > 0 else { return nil }
        return key
    }

    /// The certificate in DER.
    var der: Data {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(certificate, &bytes)
        guard let bytes, count > 0 else { return Data() }
        defer { CRYPTO_free(bytes, nil, 0) }
        return Data(bytes: bytes, count: Int(count))
    }
}
