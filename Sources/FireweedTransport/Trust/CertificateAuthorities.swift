// The certification authorities of a session.

public import Foundation

/// The certification authorities to trust.
public enum CertificateAuthorities: Sendable, Hashable {
    /// The system's: what `SSL_CERT_FILE` or `SSL_CERT_DIR` name, else the distribution's bundle; read once.
    case system
    /// A file of certificates in PEM; read again when it was written or replaced.
    case file(URL)
    /// A folder of certificates in PEM or DER, by their usual names or by hashes (openssl-rehash(1)).
    ///
    /// Read again when a file was added, removed or renamed in it, but not when a file was overwritten in place.
    case folder(URL)
    /// These certificates and no others.
    case certificates([Certificate])
}
