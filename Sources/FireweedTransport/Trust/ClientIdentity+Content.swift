// The content of a client identity, apart from its place.

package import Foundation
import Synchronization

extension ClientIdentity {
    /// The SHA-256 of the certificate that servers are shown now: another one for each certificate, whatever its path.
    ///
    /// The digest of nothing that can be read is a digest too: no server is shown such an identity. Looks at the file,
    /// and reads it when it has changed; not for an event loop's thread.
    package var contentDigest: Data { KnownIdentities.digest(of: self) }

    /// The file that holds the certificate.
    fileprivate var certificateFile: URL {
        switch source {
        case .pem(let certificate, _): certificate
        case .pkcs12(let file): file
        }
    }
}

/// The digests of identities whose files have not changed since.
private enum KnownIdentities {
    private struct RememberedDigest {
        let version: FileVersion
        let digest: Data
    }

    private static let known = Mutex<[ClientIdentity: RememberedDigest]>([:])
    private static let limit = 256

    static func digest(of identity: ClientIdentity) -> Data {
        BlockingCall.check("stat")
        let version = FileVersion(identity.certificateFile)
        if let version, let known = known.withLock({ $0[identity] }), known.version == version { return known.digest }
        let digest: Data
        do throws(ClientIdentityError) {
            digest = try LoadedIdentity(identity).digest
        } catch {
            return Data(Digest.sha256(Data("unreadable \(identity.certificateFile.path)".utf8)))
        }
        // A file that was just written may be written again within the resolution of its time.
        guard let version, version.isSettled else { return digest }
        known.withLock { known in
            if known.count >= limit { known.removeAll() }
            known[identity] = RememberedDigest(version: version, digest: digest)
        }
        return digest
    }
}
