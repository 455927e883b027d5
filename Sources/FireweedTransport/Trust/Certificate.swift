// X.509 certificates.

import COpenSSL
public import Foundation

/// Why a certificate could not be read.
public enum CertificateError: Error, Sendable, Equatable {
    /// The bytes are no certificate in DER.
    case malformedDER
    /// The text holds no certificate in PEM.
    case noCertificateInPEM
    /// The certificate's key is of a kind that OpenSSL does not know.
    case unreadablePublicKey
}

/// An X.509 certificate (RFC 5280), kept as the bytes that it is.
public struct Certificate: Sendable, Hashable {
    /// The certificate in DER.
    public let derRepresentation: Data

    /// Reads a certificate in DER; throws `CertificateError.malformedDER`.
    public init(der: Data) throws {
        guard let parsed = ParsedCertificate(der: der) else { throw CertificateError.malformedDER }
        derRepresentation = parsed.der
    }

    /// Reads the first certificate of a PEM text; throws `CertificateError.noCertificateInPEM`.
    public init(pem: String) throws {
        guard let first = try Self.all(inPEM: pem).first else { throw CertificateError.noCertificateInPEM }
        self = first
    }

    /// Reads a file in DER or PEM; throws `CertificateError`, and what reading the file throws.
    public init(contentsOf url: URL) throws {
        let data = try Data(contentsOf: url)
        if let text = String(data: data, encoding: .utf8), text.contains("-----BEGIN ") {
            try self.init(pem: text)
        } else {
            try self.init(der: data)
        }
    }

    /// Every certificate of a PEM text, in its order; empty when there is none.
    ///
    /// Throws when one of them is malformed.
    public static func all(inPEM text: String) throws -> [Certificate] {
        let begin = "-----BEGIN CERTIFICATE-----"
        let end = "-----END CERTIFICATE-----"
        return try text.components(separatedBy: begin).dropFirst().map { block in
            guard let body = block.components(separatedBy: end).first,
                let der = Data(base64Encoded: body, options: .ignoreUnknownCharacters)
            else { throw CertificateError.noCertificateInPEM }
            return try Certificate(der: der)
        }
    }

    /// The certificate's public key; throws `CertificateError.unreadablePublicKey`.
    public var publicKey: PublicKey {
        get throws {
            guard let key = ParsedCertificate(der: derRepresentation)?.publicKeyDER else {
                throw CertificateError.unreadablePublicKey
            }
            return PublicKey(subjectPublicKeyInfo: key)
        }
    }

    /// The SHA-256 of the DER form, in lower-case hexadecimal.
    public var sha256Fingerprint: String {
        Digest.sha256(derRepresentation).map { String(format: "%02x", $0) }.joined()
    }

    /// The name of whom the certificate is about, as `CN = …, O = …`.
    public var subject: String { ParsedCertificate(der: derRepresentation)?.subject ?? "" }
    /// The name of whom the certificate is from.
    public var issuer: String { ParsedCertificate(der: derRepresentation)?.issuer ?? "" }

    /// The certificate in PEM, with a line break at its end.
    public var pem: String {
        let lines = derRepresentation.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN CERTIFICATE-----\n\(lines)\n-----END CERTIFICATE-----\n"
    }
}

extension Certificate: CustomStringConvertible {
    /// Subject and issuer.
    public var description: String { "Certificate of \(subject), issued by \(issuer)" }
}

/// A public key.
public struct PublicKey: Sendable, Hashable, CustomStringConvertible {
    /// The key as SubjectPublicKeyInfo in DER (RFC 5280 §4.1).
    public let subjectPublicKeyInfo: Data

    /// The pin of the key: `sha256//` and the Base64 of the SHA-256 of its SubjectPublicKeyInfo.
    public var pin: String { "sha256//\(Data(Digest.sha256(subjectPublicKeyInfo)).base64EncodedString())" }
    /// The pin of the key.
    public var description: String { pin }
}

/// An `X509` of OpenSSL, owned.
final class ParsedCertificate {
    let x509: OpaquePointer

    init?(der: Data) {
        let parsed = der.withUnsafeBytes { bytes -> OpaquePointer? in
            var start = bytes.bindMemory(to: UInt8.self).baseAddress
            return start == nil ? nil : d2i_X509(nil, &start, bytes.count)
        }
        guard let parsed else { return nil }
        x509 = parsed
    }

    deinit { X509_free(x509) }

    var der: Data { Self.der { i2d_X509(x509, $0) } }
    var publicKeyDER: Data? {
        guard let key = X509_get0_pubkey(x509) else { return nil }
        return Self.der { i2d_PUBKEY(key, $0) }
    }
    var subject: String { Self.text(of: X509_get_subject_name(x509)) }
    var issuer: String { Self.text(of: X509_get_issuer_name(x509)) }

    /// Runs one of OpenSSL's `i2d_…` functions, which allocate when the pointer is null.
    static func der(_ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32) -> Data {
        var start: UnsafeMutablePointer<UInt8>?
        let count = write(&start)
        defer { CRYPTO_free(start, #file, #line) }
        guard count > 0, let start else { return Data() }
        return Data(bytes: start, count: Int(count))
    }

    private static func text(of name: OpaquePointer?) -> String {
        guard let name, let bio = BIO_new(BIO_s_mem()) else { return "" }
        defer { BIO_free(bio) }
        X509_NAME_print_ex(bio, name, 0, fw_name_one_line)
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = BIO_read(bio, &buffer, Int32(buffer.count))
        return String(decoding: buffer.prefix(Int(max(0, count))), as: UTF8.self)
    }
}

/// Hashes, by OpenSSL.
enum Digest {
    static func sha256(_ data: Data) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        data.withUnsafeBytes { bytes in
            _ = EVP_Digest(bytes.baseAddress, bytes.count, &digest, nil, EVP_sha256(), nil)
        }
        return digest
    }
}
