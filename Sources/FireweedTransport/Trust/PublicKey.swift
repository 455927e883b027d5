// Public keys, and their pins.

import COpenSSL
public import Foundation

/// A public key.
///
/// Two keys are equal if their SubjectPublicKeyInfo is equal.
public struct PublicKey: Sendable, Hashable, CustomStringConvertible {
    /// The key as SubjectPublicKeyInfo in DER (RFC 5280 §4.1).
    public let subjectPublicKeyInfo: Data
    /// OpenSSL's name of the key type, such as `RSA`, `EC` or `ED25519`.
    public let algorithm: String
    /// The length of the key in bits: of the modulus for RSA, of the field for an elliptic curve.
    public let bitCount: Int

    /// Reads a key as SubjectPublicKeyInfo in DER; throws `CertificateError.unreadablePublicKey`.
    public init(der: Data) throws {
        let key: PublicKey? = OpenSSLError.discarding {
            der.withUnsafeBytes { bytes in
                var start = bytes.bindMemory(to: UInt8.self).baseAddress
                let end = start.map { $0 + bytes.count }
                guard start != nil, let key = d2i_PUBKEY(nil, &start, bytes.count) else { return nil }
                defer { EVP_PKEY_free(key) }
                return start == end ? PublicKey(key: key) : nil
            }
        }
        guard let key else { throw CertificateError.unreadablePublicKey }
        self = key
    }

    /// Reads the first `PUBLIC KEY` block of a PEM text (RFC 7468 §13); throws `CertificateError.unreadablePublicKey`.
    public init(pem: String) throws {
        let parts = pem.components(separatedBy: "-----BEGIN PUBLIC KEY-----")
        guard parts.count > 1,
            let body = parts[1].components(separatedBy: "-----END PUBLIC KEY-----").first,
            let der = Data(base64Encoded: body.filter { !$0.isWhitespace })
        else { throw CertificateError.unreadablePublicKey }
        try self.init(der: der)
    }

    /// Copies an `EVP_PKEY`.
    init?(key: OpaquePointer) {
        subjectPublicKeyInfo = ParsedCertificate.der { i2d_PUBKEY(key, $0) }
        algorithm = EVP_PKEY_get0_type_name(key).map { String(cString: $0) } ?? "unknown"
        bitCount = Int(EVP_PKEY_get_bits(key))
        if subjectPublicKeyInfo.isEmpty { return nil }
    }

    /// The pin of this key.
    public var pin: PublicKeyPin { PublicKeyPin(of: self) }

    /// The algorithm, the length and the pin.
    public var description: String { "\(algorithm) key of \(bitCount) bits, \(pin)" }
}

/// The SHA-256 of a key's SubjectPublicKeyInfo (RFC 7469 §2.4), to pin a key without having the key itself.
public struct PublicKeyPin: Sendable, Hashable, CustomStringConvertible {
    /// The 32 bytes of the hash.
    public let sha256: Data

    /// Makes the pin of a key.
    public init(of key: PublicKey) {
        sha256 = Data(Digest.sha256(key.subjectPublicKeyInfo))
    }

    /// Reads a pin in curl's format, `sha256//` and Base64; throws `CertificateError.malformedPin`.
    ///
    /// A single slash is accepted too. These `openssl` commands compute the Base64 from a certificate:
    /// `openssl x509 -pubkey -noout | openssl pkey -pubin -outform DER | openssl dgst -sha256 -binary | base64`.
    public init(_ text: String) throws {
        guard text.hasPrefix("sha256/"),
            let bytes = Data(base64Encoded: String(text.dropFirst("sha256/".count).trimmingPrefix("/"))),
            bytes.count == 32
        else { throw CertificateError.malformedPin(text) }
        sha256 = bytes
    }

    /// The pin in curl's format: `sha256//` and Base64.
    public var description: String { "sha256//\(sha256.base64EncodedString())" }
}
