// The store of TLS sessions for resumption.

import COpenSSL
import Foundation

/// Keeps the TLS sessions of one transport on one loop.
///
/// A session is resumed only with the peer, identity, authorities and ALPN offer of its first handshake, and only while
/// the verdict on its peer is valid: a resumed handshake has no certificates to evaluate. The store lives on its loop's
/// thread.
final class TLSSessionStore {
    /// The peer and the settings that a TLS session was made with.
    ///
    /// The trust rules are not part of the key, since a transport has one set. The file of its authorities may be
    /// replaced.
    struct Key: Hashable {
        var host: String
        var port: UInt16
        var isProxy: Bool
        /// The client identity, and the digest of its certificate: the identity's files may be replaced.
        var identity: ClientIdentity?
        var certificate: Data?
        /// The version of the authorities' file before the handshake.
        var authorities: FileVersion?
        var offer: [ApplicationProtocol]
    }

    /// A session, and the time at which the verdict on its peer ends.
    struct Entry {
        let session: OwnedSession
        let expiry: Date
    }

    private var entries: [Key: [Entry]] = [:]
    /// The most keys; when a new key would exceed this limit, all sessions are dropped first.
    private static let keyLimit = 1000
    /// The most TLS 1.3 sessions for a key; servers usually send two tickets, and each is used once.
    private static let entryLimit = 4

    /// Returns the newest session to resume; removes a TLS 1.3 session, which is used only once (RFC 8446 §C.4).
    func take(for key: Key, at now: Date = Date()) -> Entry? {
        guard var own = entries[key] else { return nil }
        own.removeAll { $0.expiry <= now || !$0.session.isResumable }
        let newest = own.last
        if newest?.session.isSingleUse == true { own.removeLast() }
        entries[key] = own.isEmpty ? nil : own
        return newest
    }

    /// Stores a session.
    func add(_ entry: Entry, for key: Key) {
        if entries[key] == nil, entries.count >= Self.keyLimit { entries.removeAll() }
        // A TLS 1.2 session can be reused any number of times, so it replaces the older sessions.
        var own = entry.session.isSingleUse ? entries[key, default: []].suffix(Self.entryLimit - 1) : []
        own.append(entry)
        entries[key] = Array(own)
    }
}

/// Owns one `SSL_SESSION`.
final class OwnedSession {
    let pointer: OpaquePointer

    /// Copies the session: if a connection fails, OpenSSL marks the session that it shares as not resumable.
    init?(copyOf session: OpaquePointer) {
        guard let copy = SSL_SESSION_dup(session) else { return nil }
        pointer = copy
    }

    deinit { SSL_SESSION_free(pointer) }

    var isResumable: Bool { SSL_SESSION_is_resumable(pointer) == 1 }
    var isSingleUse: Bool { SSL_SESSION_get_protocol_version(pointer) >= TLS1_3_VERSION }
}

/// Stores the sessions that the server of one connection issues.
final class TLSResumption {
    var key: TLSSessionStore.Key
    /// The end of the verdict on the peer; `nil` until there is a verdict.
    var expiry: Date?
    private let store: TLSSessionStore

    init(_ key: TLSSessionStore.Key, in store: TLSSessionStore) {
        self.key = key
        self.store = store
    }

    /// Stores a session that the server issued; does nothing if there is no verdict on the peer.
    func keep(_ session: OwnedSession) {
        guard let expiry else { return }
        store.add(TLSSessionStore.Entry(session: session, expiry: expiry), for: key)
    }
}
