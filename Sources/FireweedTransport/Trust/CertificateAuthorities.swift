// The certification authorities of a session.

public import Foundation

/// The certification authorities to trust.
public enum CertificateAuthorities: Sendable, Hashable {
    /// The system's authorities: those that `SSL_CERT_FILE` or else `SSL_CERT_DIR` names, else the distribution's; read
    /// once.
    case system
    /// A file of PEM certificates; read again after it has changed.
    case file(URL)
    /// A folder of PEM or DER certificates, whose files have usual extensions or hashes as names (openssl-rehash(1)).
    ///
    /// It is read again after a file was added, removed or renamed in it, but not after a file was overwritten in
    /// place.
    case folder(URL)
    /// These certificates and no others.
    case certificates([Certificate])
}
