// The content of client identities, independent of their paths.

import Dispatch
package import Foundation
import Synchronization

extension ClientIdentity {
    /// The SHA-256 of the certificate that servers are shown now: different for each certificate, whatever its path.
    ///
    /// An identity that cannot be read has a digest too: no server is shown such an identity. Looks at the files, and
    /// reads them when they have changed; not for an event loop's thread.
    package var contentDigest: Data {
        do throws(ClientIdentityError) {
            return try KnownIdentities.identity(self).digest
        } catch {
            return Data(Digest.sha256(Data("unreadable \(files[0].path)".utf8)))
        }
    }

    /// Gives the identity to `body`, on a thread that may wait for its files.
    func load(_ body: @escaping @Sendable (Result<LoadedIdentity, ClientIdentityError>) -> Void) {
        KnownIdentities.load(self, body)
    }

    /// The file of the certificate, and that of the key.
    fileprivate var files: [URL] {
        switch source {
        case .pem(let certificate, let key): [certificate, key]
        case .pkcs12(let file): [file]
        }
    }
}

/// The identities whose files have not changed since they were read.
private enum KnownIdentities {
    typealias Reply = @Sendable (Result<LoadedIdentity, ClientIdentityError>) -> Void

    private struct State {
        var known: [ClientIdentity: (versions: [FileVersion?], identity: LoadedIdentity)] = [:]
        /// The identities that are being read, with the replies that wait: a file that never arrives blocks one thread
        /// only.
        var waiting: [ClientIdentity: [Reply]] = [:]
    }

    private static let state = Mutex(State())
    private static let limit = 256

    static func identity(_ identity: ClientIdentity) throws(ClientIdentityError) -> LoadedIdentity {
        BlockingCall.check("stat")
        let versions = identity.files.map { FileVersion($0) }
        let known = state.withLock { $0.known[identity] }
        if let known, known.versions == versions { return known.identity }
        let loaded = try LoadedIdentity(identity)
        // A file that was just written may be written again within the resolution of its time stamp.
        guard versions.allSatisfy({ $0?.isSettled ?? false }) else { return loaded }
        state.withLock { state in
            if state.known.count >= limit { state.known.removeAll() }
            state.known[identity] = (versions, loaded)
        }
        return loaded
    }

    static func load(_ identity: ClientIdentity, _ reply: @escaping Reply) {
        let isFirst = state.withLock { state in
            state.waiting[identity, default: []].append(reply)
            return state.waiting[identity]?.count == 1
        }
        guard isFirst else { return }
        DispatchQueue.global(qos: .utility).async {
            let result = Result { () throws(ClientIdentityError) in try Self.identity(identity) }
            let replies = state.withLock { $0.waiting.removeValue(forKey: identity) }
            for reply in replies ?? [] { reply(result) }
        }
    }
}
