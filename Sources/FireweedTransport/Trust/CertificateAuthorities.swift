// Whom to trust, and who we are.

public import Foundation

/// The certification authorities to trust.
public enum CertificateAuthorities: Sendable, Hashable {
    /// The system's: `/etc/ssl/certs` on Debian.
    case system
    /// A file of certificates in PEM.
    case file(URL)
    /// A folder of certificates in PEM, named by their hashes (openssl-rehash(1)).
    case folder(URL)
    /// These certificates and no others.
    case certificates([Certificate])
}

/// A certificate and its private key, for servers that ask who we are.
///
/// The files are read when a connection is made; a failure then is `URLError.clientCertificateRejected`.
public struct ClientIdentity: Sendable, Hashable, CustomStringConvertible {
    enum Source: Sendable, Hashable {
        case pem(certificate: URL, privateKey: URL)
        case pkcs12(URL)
    }

    let source: Source
    let passphrase: String?

    /// An identity of two PEM files, the key's encrypted if there is a passphrase.
    public init(certificate: URL, privateKey: URL, passphrase: String? = nil) {
        source = .pem(certificate: certificate, privateKey: privateKey)
        self.passphrase = passphrase
    }

    /// An identity of a PKCS #12 file.
    public init(pkcs12: URL, passphrase: String) {
        source = .pkcs12(pkcs12)
        self.passphrase = passphrase
    }

    /// Where the certificate is; nothing secret.
    public var description: String {
        switch source {
        case .pem(let certificate, _): "Client identity in \(certificate.path)"
        case .pkcs12(let file): "Client identity in \(file.path)"
        }
    }
}
