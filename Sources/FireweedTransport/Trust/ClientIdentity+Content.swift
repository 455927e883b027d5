// The content of client identities, and the cache of identities that were read.

import Dispatch
package import Foundation
import Synchronization

extension ClientIdentity {
    /// The SHA-256 of the identity's current certificate, independent of its path.
    ///
    /// An identity that cannot be read, and so is shown to no server, has a digest too. This property checks the files
    /// and reads them if they have changed: do not use it on an event loop's thread.
    package var contentDigest: Data {
        do throws(ClientIdentityError) {
            return try KnownIdentities.identity(self).digest
        } catch {
            return Data(Digest.sha256(Data("unreadable \(files[0].path)".utf8)))
        }
    }

    /// Passes the identity to `body`, on a thread that may wait for its files.
    func load(_ body: @escaping @Sendable (Result<LoadedIdentity, ClientIdentityError>) -> Void) {
        KnownIdentities.load(self, body)
    }

    /// The files of the certificate and of the key.
    fileprivate var files: [URL] {
        switch source {
        case .pem(let certificate, let key): [certificate, key]
        case .pkcs12(let file): [file]
        }
    }
}

/// A cache of identities that were read; an entry is valid until its files change.
private enum KnownIdentities {
    typealias Reply = @Sendable (Result<LoadedIdentity, ClientIdentityError>) -> Void

    private struct State {
        var known: [ClientIdentity: (versions: [FileVersion?], identity: LoadedIdentity)] = [:]
        /// The identities that are being read, with the replies that wait for them: a read that never ends blocks one
        /// thread only.
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
        // A file that was just written may change again with the same time stamp, so it is not cached yet.
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
