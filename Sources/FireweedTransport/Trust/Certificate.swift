// X.509 certificates.

public import Foundation

/// Why a certificate or a key could not be read.
public enum CertificateError: Error, Sendable, Equatable {
    /// The bytes are not a certificate in DER, or other bytes follow the certificate.
    case malformedDER
    /// The text has no PEM certificate.
    case noCertificateInPEM
    /// A PEM certificate has no end line, or its content is not Base64.
    case malformedPEM
    /// The key is malformed, or of a type that OpenSSL does not know.
    case unreadablePublicKey
    /// The file cannot be opened; `reason` is the system's text.
    case unreadableFile(URL, reason: String)
    /// The file can be read, but its content has this error.
    indirect case malformedFile(URL, CertificateError)
    /// The text is not `sha256//` and 32 bytes in Base64.
    case malformedPin(String)
}

/// An X.509 certificate (RFC 5280), kept as its DER bytes.
///
/// Two certificates are equal if their bytes are equal. The properties are read from a certificate that OpenSSL has
/// parsed: store the values that you need often.
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

    /// Makes a certificate from DER that OpenSSL has just written.
    ///
    /// It skips the check of the bytes, which would cost half a millisecond for each certificate in each handshake.
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

    /// The name of the subject, such as `CN = …, O = …`; empty if the certificate has none.
    public var subject: String { parsed?.subject ?? "" }
    /// The name of the issuer.
    public var issuer: String { parsed?.issuer ?? "" }
    /// The serial number from the issuer, in upper-case hexadecimal.
    public var serialNumber: String { parsed?.serialNumber ?? "" }
    /// The first moment at which the certificate is valid; `Date.distantFuture` if the field cannot be read.
    public var notBefore: Date { parsed?.notBefore ?? .distantFuture }
    /// The last moment at which the certificate is valid; `Date.distantPast` if the field cannot be read.
    public var notAfter: Date { parsed?.notAfter ?? .distantPast }
    /// The subject alternative names (RFC 5280 §4.2.1.6), in the certificate's order; empty without this extension.
    public var subjectAlternativeNames: [SubjectAlternativeName] { parsed?.subjectAlternativeNames ?? [] }
    /// Whether subject and issuer are the same name, as in roots; the signature is not checked.
    public var isSelfIssued: Bool { parsed?.isSelfIssued ?? false }
    /// The signature algorithm by OpenSSL's name, such as `sha256WithRSAEncryption` or `ecdsa-with-SHA256`.
    public var signatureAlgorithm: String { parsed?.signatureAlgorithm ?? "unknown" }

    /// The certificate in PEM, with a line break at its end.
    public var pem: String {
        let lines = derRepresentation.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN CERTIFICATE-----\n\(lines)\n-----END CERTIFICATE-----\n"
    }

    /// The certificate as an OpenSSL object, parsed unless it is among the last ones.
    ///
    /// The bytes were valid when this value was made, so it is `nil` only if memory has run out.
    var parsed: ParsedCertificate? { ParsedCertificate.known(derRepresentation) }
}

extension Certificate: CustomStringConvertible, CustomDebugStringConvertible {
    /// The subject and the issuer, on one line.
    public var description: String { "Certificate of \(subject), issued by \(issuer)" }

    /// The fields of the certificate, one on each line.
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
