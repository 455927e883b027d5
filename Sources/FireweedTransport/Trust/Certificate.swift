// X.509 certificates.

public import Foundation

/// Why a certificate or a key could not be read.
public enum CertificateError: Error, Sendable, Equatable {
    /// The bytes are no certificate in DER, or other bytes follow the certificate.
    case malformedDER
    /// The text holds no certificate in PEM.
    case noCertificateInPEM
    /// A certificate in PEM has no end, or its content is no Base64.
    case malformedPEM
    /// The key is of a kind that OpenSSL does not know, or is malformed.
    case unreadablePublicKey
    /// The file cannot be opened; the text is the system's.
    case unreadableFile(URL, reason: String)
    /// The file can be read, but its content has this error.
    indirect case malformedFile(URL, CertificateError)
    /// The text is no `sha256//` and 32 bytes in Base64.
    case malformedPin(String)
}

/// An X.509 certificate (RFC 5280), kept as its DER bytes.
///
/// Two certificates are equal when their bytes are. The fields are read from the bytes each time: keep the values that
/// you need often.
///
/// <!-- sample: no-run: there is no such file -->
/// ```swift
/// let certificate = try Certificate(contentsOf: URL(filePath: "server.crt"))
/// print(certificate.subject, certificate.notAfter)
/// ```
public struct Certificate: Sendable, Hashable {
    /// The certificate in DER.
    public let derRepresentation: Data

    /// Reads a certificate in DER; throws `CertificateError.malformedDER`.
    public init(der: Data) throws {
        guard let parsed = ParsedCertificate(der: der) else { throw CertificateError.malformedDER }
        self.init(parsed)
    }

    init(_ parsed: ParsedCertificate) {
        derRepresentation = parsed.der
    }

    /// The certificate whose DER form OpenSSL has just written.
    ///
    /// Reading it once more would take half a millisecond, for each certificate of each handshake.
    init(written der: Data) {
        derRepresentation = der
    }

    /// The certificate's public key; throws `CertificateError.unreadablePublicKey`.
    public var publicKey: PublicKey {
        get throws {
            guard let key = parsed?.publicKey else { throw CertificateError.unreadablePublicKey }
            return key
        }
    }

    /// The SHA-256 of the DER form, in lower-case hexadecimal without separators.
    public var sha256Fingerprint: String {
        Digest.sha256(derRepresentation).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The name of the subject, as `CN = …, O = …`; empty when it has none.
    public var subject: String { parsed?.subject ?? "" }
    /// The name of the issuer.
    public var issuer: String { parsed?.issuer ?? "" }
    /// The number that the issuer gave the certificate, in upper-case hexadecimal.
    public var serialNumber: String { parsed?.serialNumber ?? "" }
    /// The first moment at which the certificate is valid; in the distant future when the field cannot be read.
    public var notBefore: Date { parsed?.notBefore ?? .distantFuture }
    /// The last moment at which the certificate is valid; in the distant past when the field cannot be read.
    public var notAfter: Date { parsed?.notAfter ?? .distantPast }
    /// The names that the certificate is for besides its subject, in its order; empty when there is no such extension
    /// (RFC 5280 §4.2.1.6).
    public var subjectAlternativeNames: [SubjectAlternativeName] { parsed?.subjectAlternativeNames ?? [] }
    /// Whether subject and issuer are the same name, as in roots; this says nothing about the signature.
    public var isSelfIssued: Bool { parsed?.isSelfIssued ?? false }
    /// The signature algorithm by OpenSSL's name, such as `sha256WithRSAEncryption` or `ecdsa-with-SHA256`.
    public var signatureAlgorithm: String { parsed?.signatureAlgorithm ?? "unknown" }

    /// The certificate in PEM, with a line break at its end.
    public var pem: String {
        let lines = derRepresentation.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN CERTIFICATE-----\n\(lines)\n-----END CERTIFICATE-----\n"
    }

    /// OpenSSL's form of the certificate.
    ///
    /// The bytes were parsed before, so it is `nil` only when memory has run out.
    var parsed: ParsedCertificate? { ParsedCertificate(der: derRepresentation) }
}

extension Certificate: CustomStringConvertible, CustomDebugStringConvertible {
    /// Subject and issuer in a line.
    public var description: String { "Certificate of \(subject), issued by \(issuer)" }

    /// The fields of the certificate, a line for each.
    public var debugDescription: String {
        """
        Certificate of \(subject)
            issuer: \(issuer)
            serial number: \(serialNumber)
            valid: \(notBefore.formatted(.iso8601)) to \(notAfter.formatted(.iso8601))
            names: \(subjectAlternativeNames.map(\.description).joined(separator: ", "))
            key: \((try? publicKey).map { "\($0.algorithm), \($0.bitCount) bits, \($0.pin)" } ?? "unreadable")
            signature: \(signatureAlgorithm)
            SHA-256: \(sha256Fingerprint)
        """
    }
}
