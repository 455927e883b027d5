// Whom to trust.

public import Foundation

/// The certification authorities to trust.
public enum CertificateAuthorities: Sendable, Hashable {
    /// The system's: what `SSL_CERT_FILE` or `SSL_CERT_DIR` name, else the distribution's bundle.
    case system
    /// A file of certificates in PEM.
    case file(URL)
    /// A folder of certificates in PEM, named by their hashes (openssl-rehash(1)).
    case folder(URL)
    /// These certificates and no others.
    case certificates([Certificate])
}
