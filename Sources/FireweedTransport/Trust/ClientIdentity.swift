// The client's certificate and key.

public import Foundation

/// A certificate and its private key, for servers that ask for a client certificate.
///
/// The value only names the files, and reads nothing.
///
/// The files are read when a connection is made; a failure then is `URLError.clientCertificateRejected`. Call
/// `validate()` to know earlier, and more precisely.
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

    /// An identity of two PEM files.
    ///
    /// - Parameters:
    ///   - certificate: the certificate, and after it the intermediates to send along.
    ///   - privateKey: the key; may be the same file.
    ///   - passphrase: the passphrase of the key; `nil` when the key is not encrypted.
    public init(certificate: URL, privateKey: URL, passphrase: String? = nil) {
        source = .pem(certificate: certificate, privateKey: privateKey)
        self.passphrase = passphrase
    }

    /// An identity of a PKCS #12 file (RFC 7292).
    ///
    /// - Parameters:
    ///   - pkcs12: the file, which holds certificate, key and intermediates.
    ///   - passphrase: the passphrase of the file.
    public init(pkcs12: URL, passphrase: String) {
        source = .pkcs12(pkcs12)
        self.passphrase = passphrase
    }

    /// Reads the files and checks that key and certificate belong together; throws ``ClientIdentityError``.
    public func validate() throws(ClientIdentityError) {
        _ = try LoadedIdentity(self)
    }

    /// The certificates that a server is shown, ours first; throws ``ClientIdentityError``.
    public var certificates: [Certificate] {
        get throws(ClientIdentityError) { try LoadedIdentity(self).certificates }
    }
}

extension ClientIdentity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Where the certificate is; nothing secret.
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
    /// The file cannot be opened; the text is the system's.
    case unreadableFile(URL, reason: String)
    /// The file holds no certificate.
    case noCertificate(URL)
    /// The file holds no private key.
    case noPrivateKey(URL)
    /// The key is encrypted, and no passphrase was given.
    case missingPassphrase(URL)
    /// The passphrase does not open the file.
    case wrongPassphrase(URL)
    /// The file is damaged, or in a format that OpenSSL 3 no longer reads; the text is OpenSSL's.
    case malformedFile(URL, reason: String)
    /// The key does not belong to the certificate.
    case mismatchedKey(certificate: Certificate)
    /// OpenSSL refuses to use the identity, for a weak key or the like; the text is OpenSSL's.
    case refused(reason: String)
}
