// A certificate authority in a folder.

import Fireweed
package import Foundation
import Glibc

/// A certificate authority whose files stay, so that clients which trust it trust every later server too.
package final class KeptAuthority: Sendable {
    /// The authority's own certificate, in PEM.
    package let certificate: URL
    private let authority: GeneratedCertificate

    /// Ten years, in seconds.
    private static let validity = 10 * 365 * 86_400
    /// The validity of a server's certificate: as long as browsers allow, 397 days, in seconds.
    private static let ownValidity = 397 * 86_400
    /// An authority that ends sooner is made anew: 30 days, in seconds.
    private static let shortestValidity = 30 * 86_400

    /// Uses the authority in a folder if it is valid for 30 more days; otherwise makes a new one there.
    ///
    /// Only this user may read the folder and the key.
    ///
    /// - Parameters:
    ///   - folder: the folder, which is created if it does not exist.
    ///   - name: the common name of a new authority.
    /// - Throws: the errors of making the folder and its files, and ``MockServerError`` when OpenSSL fails.
    package init(in folder: URL, name: String) throws {
        certificate = folder.appendingPathComponent("authority.pem")
        let key = folder.appendingPathComponent("authority.key")
        let manager = FileManager.default
        try manager.createDirectory(at: folder, withIntermediateDirectories: true)
        try manager.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.path)
        // The lock keeps processes that start at the same time from mixing their files.
        let lock = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { if lock >= 0 { FileLock.close(lock) } }
        if lock >= 0 { _ = FileLock.take(lock, .exclusive, waitingMilliseconds: 10_000) }
        if let certificate = try? Data(contentsOf: certificate), let key = try? Data(contentsOf: key),
            let kept = GeneratedCertificate(certificatePEM: certificate, keyPEM: key),
            kept.isValid(forSeconds: Self.shortestValidity)
        {
            authority = kept
        } else {
            var options = GeneratedCertificate.authority
            options.validity = -3600...Self.validity
            authority = try GeneratedCertificate(name, signedBy: nil, options)
            let pem = Data(try Certificate(der: authority.der).pem.utf8)
            try FileInstaller.writePrivately(authority.keyPEM, to: key)
            try FileInstaller.writePrivately(pem, to: certificate)
        }
        try manager.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key.path)
    }

    /// Makes the identity of a server with these subject alternative names.
    func identity(for names: [String]) throws -> ServerIdentity {
        var options = GeneratedCertificate.Options()
        options.names = names.joined(separator: ",")
        options.validity = -3600...Self.ownValidity
        let own = try GeneratedCertificate("localhost", signedBy: authority, options)
        let identity = try ServerIdentity([own], securityLevel: 2)  // Debian's default
        identity.accept(.tls12 ... .tls13)
        return identity
    }
}
