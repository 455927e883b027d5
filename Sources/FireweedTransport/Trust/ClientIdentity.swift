// The client's certificate and key.

public import Foundation

/// A certificate and its private key, for servers that request a client certificate.
///
/// The value only names the files; creating it reads nothing.
///
/// The files are read when a connection is made; a failure is then reported as `URLError.clientCertificateRejected`.
/// Call `validate()` to find errors earlier, and with more detail.
///
/// ```swift
/// let identity = ClientIdentity(pkcs12: URL(filePath: "client.p12"), passphrase: passphrase)
/// try identity.validate()
/// ```
public struct ClientIdentity: Sendable, Hashable {
    enum Source: Sendable, Hashable {
        case pem(certificate: URL, privateKey: URL)
        case pkcs12(URL)
    }

    let source: Source
    let passphrase: String?

    /// Makes an identity from two PEM files.
    ///
    /// - Parameters:
    ///   - certificate: the file with the certificate, followed by the intermediates to send.
    ///   - privateKey: the file with the key; may be the same file.
    ///   - passphrase: the passphrase of the key; `nil` if the key is not encrypted.
    public init(certificate: URL, privateKey: URL, passphrase: String? = nil) {
        source = .pem(certificate: certificate, privateKey: privateKey)
        self.passphrase = passphrase
    }

    /// Makes an identity from a PKCS #12 file (RFC 7292).
    ///
    /// - Parameters:
    ///   - pkcs12: the file with the certificate, the key and the intermediates.
    ///   - passphrase: the passphrase of the file.
    public init(pkcs12: URL, passphrase: String) {
        source = .pkcs12(pkcs12)
        self.passphrase = passphrase
    }

    /// Reads the files and checks that the key belongs to the certificate; throws ``ClientIdentityError``.
    public func validate() throws(ClientIdentityError) {
        _ = try LoadedIdentity(self)
    }

    /// The certificates to send to a server, the client's own first; reads the files, and throws
    /// ``ClientIdentityError``.
    public var certificates: [Certificate] {
        get throws(ClientIdentityError) { try LoadedIdentity(self).certificates }
    }
}

extension ClientIdentity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The path of the certificate, without secrets.
    public var description: String {
        switch source {
        case .pem(let certificate, _): "Client identity in \(certificate.path)"
        case .pkcs12(let file): "Client identity in \(file.path)"
        }
    }

    /// The description.
    public var debugDescription: String { description }

    /// No children, so that `dump` does not show the passphrase.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Why a client identity cannot be used.
public enum ClientIdentityError: Error, Sendable, Equatable {
    /// The file cannot be opened; `reason` is the system's text.
    case unreadableFile(URL, reason: String)
    /// The file has no certificate.
    case noCertificate(URL)
    /// The file has no private key.
    case noPrivateKey(URL)
    /// The key is encrypted, and no passphrase was given.
    case missingPassphrase(URL)
    /// The passphrase does not decrypt the file.
    case wrongPassphrase(URL)
    /// The file is damaged, or its format is one that OpenSSL 3 no longer reads; `reason` is OpenSSL's text.
    case malformedFile(URL, reason: String)
    /// The key does not belong to the certificate.
    case mismatchedKey(certificate: Certificate)
    /// OpenSSL refuses the identity, for example because of a weak key; `reason` is OpenSSL's text.
    case refused(reason: String)
}
