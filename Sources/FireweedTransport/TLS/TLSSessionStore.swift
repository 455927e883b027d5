// TLS sessions that later connections resume.

import COpenSSL
import Foundation

/// Keeps the TLS sessions of one transport on one loop.
///
/// A session is resumed only for the origin, the identity and the offer of protocols that it was made for, and only as
/// long as the verdict on its peer holds: a handshake that resumes a session shows no certificates. It lives on its
/// loop's thread.
final class TLSSessionStore {
    /// The peer and the settings that a TLS session belongs to.
    ///
    /// One transport judges its servers by one set of rules, but the files of its authorities may be replaced.
    struct Key: Hashable {
        var host: String
        var port: UInt16
        var isProxy: Bool
        /// The client identity, and the digest of its certificate, since the identity's files may be replaced.
        var identity: ClientIdentity?
        var certificate: Data?
        /// The file of the authorities, as it was before the handshake.
        var authorities: FileVersion?
        var offer: [ApplicationProtocol]
    }

    /// A session, and the end of the verdict on its peer.
    struct Entry {
        let session: OwnedSession
        let expiry: Date
    }

    private var entries: [Key: [Entry]] = [:]
    /// The most keys; before another one is added, all sessions are dropped.
    private static let keyLimit = 1000
    /// The most sessions of a key; a server usually sends two tickets, and each is used once.
    private static let entryLimit = 4

    /// Returns the newest session to resume; a session of TLS 1.3 is returned once (RFC 8446 §C.4).
    func take(for key: Key, at now: Date = Date()) -> Entry? {
        guard var own = entries[key] else { return nil }
        own.removeAll { $0.expiry <= now || !$0.session.isResumable }
        let newest = own.last
        if newest?.session.isSingleUse == true { own.removeLast() }
        entries[key] = own.isEmpty ? nil : own
        return newest
    }

    /// Keeps a session.
    func add(_ entry: Entry, for key: Key) {
        if entries[key] == nil, entries.count >= Self.keyLimit { entries.removeAll() }
        // A session of TLS 1.2 can be used again and again: it replaces older ones.
        var own = entry.session.isSingleUse ? entries[key, default: []].suffix(Self.entryLimit - 1) : []
        own.append(entry)
        entries[key] = Array(own)
    }
}

/// Owns one `SSL_SESSION`.
final class OwnedSession {
    let pointer: OpaquePointer

    /// Makes a copy: OpenSSL marks a session as not resumable when a connection that shares it fails.
    init?(copyOf session: OpaquePointer) {
        guard let copy = SSL_SESSION_dup(session) else { return nil }
        pointer = copy
    }

    deinit { SSL_SESSION_free(pointer) }

    var isResumable: Bool { SSL_SESSION_is_resumable(pointer) == 1 }
    var isSingleUse: Bool { SSL_SESSION_get_protocol_version(pointer) >= TLS1_3_VERSION }
}

/// Stores the sessions that a connection's server gives.
final class TLSResumption {
    var key: TLSSessionStore.Key
    /// The end of the verdict on the peer; `nil` before there is a verdict.
    var expiry: Date?
    private let store: TLSSessionStore

    init(_ key: TLSSessionStore.Key, in store: TLSSessionStore) {
        self.key = key
        self.store = store
    }

    /// Stores a session that the server gave, if there is a verdict.
    func keep(_ session: OpaquePointer) {
        guard let expiry, let copy = OwnedSession(copyOf: session) else { return }
        store.add(TLSSessionStore.Entry(session: copy, expiry: expiry), for: key)
    }
}
