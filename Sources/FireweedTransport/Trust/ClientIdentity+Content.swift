// The content of a client identity, apart from its place.

import CLinux
package import Foundation
import Glibc
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

/// The properties of a file that change when it is written or replaced.
private struct FileVersion: Equatable {
    private let device: UInt
    private let inode: UInt
    private let byteCount: Int
    private let modified: [Int]
    private let changed: [Int]

    /// `nil` where there is no file.
    init?(_ url: URL) {
        BlockingCall.check("stat")
        var status = stat()
        guard url.path.withCString({ stat($0, &status) }) == 0 else { return nil }
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
        byteCount = Int(status.st_size)
        modified = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
        changed = [status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
    }

    /// Whether the last change lies at least two seconds back.
    var isSettled: Bool { time(nil) - changed[0] >= 2 }
}
