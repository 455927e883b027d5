// Descriptions of the errors of certificates and client identities.

public import Foundation

extension CertificateError: LocalizedError {
    /// A sentence that says what is wrong, with the path of the file.
    public var errorDescription: String? {
        switch self {
        case .malformedDER: "The bytes are no certificate in DER."
        case .noCertificateInPEM: "The text has no certificate in PEM."
        case .malformedPEM: "A certificate in PEM has no end, or its content is no Base64."
        case .unreadablePublicKey: "The key is malformed, or of a kind that OpenSSL does not know."
        case .unreadableFile(let file, let reason): "\(file.path) cannot be read: \(reason)."
        case .malformedFile(let file, let cause): "\(file.path) cannot be used: \(cause.plainText)"
        case .malformedPin(let text): "\(text.debugDescription) is no sha256// with 32 bytes in Base64."
        }
    }
}

extension ClientIdentityError: LocalizedError {
    /// A sentence that says what is wrong, with the path of the file.
    public var errorDescription: String? {
        switch self {
        case .unreadableFile(let file, let reason): "\(file.path) cannot be read: \(reason)."
        case .noCertificate(let file): "\(file.path) has no certificate."
        case .noPrivateKey(let file): "\(file.path) has no private key."
        case .missingPassphrase(let file): "The key in \(file.path) is encrypted, and no passphrase was given."
        case .wrongPassphrase(let file): "The passphrase does not open \(file.path)."
        case .malformedFile(let file, let reason): "\(file.path) is damaged: \(reason)."
        case .mismatchedKey: "The private key is not the key of the certificate."
        case .refused(let reason): "OpenSSL refuses the client certificate: \(reason)."
        }
    }
}
