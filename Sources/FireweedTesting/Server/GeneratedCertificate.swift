// Certificates and keys, made by OpenSSL.

import COpenSSL
import Foundation

/// A certificate and its key.
final class GeneratedCertificate: @unchecked Sendable {
    // SAFETY: OpenSSL counts references to certificates and keys atomically, and nothing here changes them after
    // `init`.
    struct Options {
        /// The validity period, in seconds from now.
        var validity = -3600...30 * 86_400
        var names: String? = "DNS:localhost,IP:127.0.0.1"
        var purpose: String? = "serverAuth"
        var isAuthority = false
        /// The domains for which an authority may issue certificates, in OpenSSL's syntax.
        var nameConstraints: String?
        /// The URLs of the OCSP responder and of the revocation list.
        var responder: String?
        var revocationList: String?
        var hasWeakKey = false
        var usesSHA1 = false
    }

    static let authority = Options(names: nil, purpose: nil, isAuthority: true)

    let certificate: OpaquePointer
    let key: OpaquePointer

    /// Makes a certificate; it is self-signed when there is no issuer.
    init(_ name: String, signedBy issuer: GeneratedCertificate?, _ options: Options) throws {
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
        // Strict clients want both (RFC 5280 §4.2.1.1, §4.2.1.2).
        try add(NID_subject_key_identifier, "hash")
        try add(NID_authority_key_identifier, "keyid", issuer: issuer?.certificate)
        if let names = options.names { try add(NID_subject_alt_name, names) }
        if let purpose = options.purpose { try add(NID_ext_key_usage, purpose) }
        if let constraints = options.nameConstraints { try add(NID_name_constraints, "critical,\(constraints)") }
        if let responder = options.responder { try add(NID_info_access, "OCSP;URI:\(responder)") }
        if let list = options.revocationList { try add(NID_crl_distribution_points, "URI:\(list)") }
        let digest = options.usesSHA1 ? EVP_sha1() : EVP_sha256()
        guard X509_sign(certificate, issuer?.key ?? key, digest) > 0 else {
            throw MockServerError(description: "OpenSSL cannot sign a certificate")
        }
    }

    /// Reads a certificate and its key; `nil` when one of them cannot be read, or when they do not belong together.
    init?(certificatePEM: Data, keyPEM: Data) {
        defer { ERR_clear_error() }
        guard let certificate = Self.read(certificatePEM, by: { PEM_read_bio_X509($0, nil, nil, nil) }) else {
            return nil
        }
        guard let key = Self.read(keyPEM, by: { PEM_read_bio_PrivateKey($0, nil, nil, nil) }) else {
            X509_free(certificate)
            return nil
        }
        (self.certificate, self.key) = (certificate, key)
        guard X509_check_private_key(certificate, key) == 1 else { return nil }
    }

    private static func read(_ pem: Data, by read: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
        pem.withUnsafeBytes { bytes in
            guard let memory = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
            defer { BIO_free(memory) }
            return read(memory)
        }
    }

    /// Whether the certificate is valid now, and for so many more seconds.
    func isValid(forSeconds seconds: Int) -> Bool {
        var end = time(nil) + seconds
        return X509_cmp_time(X509_get0_notBefore(certificate), nil) < 0
            && X509_cmp_time(X509_get0_notAfter(certificate), &end) > 0
    }

    deinit {
        X509_free(certificate)
        EVP_PKEY_free(key)
    }

    private func add(_ extensionNumber: Int32, _ value: String, issuer: OpaquePointer? = nil) throws {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer ?? certificate, certificate, nil, nil, 0)
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
    var der: Data { Self.der { i2d_X509(certificate, $0) } }

    /// The private key in PEM; empty when OpenSSL has no memory.
    var keyPEM: Data {
        guard let memory = BIO_new(BIO_s_mem()) else { return Data() }
        defer { BIO_free(memory) }
        PEM_write_bio_PrivateKey(memory, key, nil, nil, 0, nil, nil)
        var bytes: UnsafeMutablePointer<CChar>?
        let count = fw_bio_bytes(memory, &bytes)
        return bytes.map { Data(bytes: $0, count: count) } ?? Data()
    }

    /// Returns the output of one of OpenSSL's `i2d` functions; empty when it fails.
    static func der(_ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32) -> Data {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = write(&bytes)
        guard let bytes, count > 0 else { return Data() }
        defer { CRYPTO_free(bytes, nil, 0) }
        return Data(bytes: bytes, count: Int(count))
    }
}
