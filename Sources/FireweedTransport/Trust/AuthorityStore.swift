// The authorities in the form in which OpenSSL looks them up.

import COpenSSL
import Foundation
import Synchronization

/// Owns an `X509_STORE` with authorities in it.
///
/// Everything is read when it is made: a verification does no I/O.
final class AuthorityStore: @unchecked Sendable {
    // SAFETY: filled in `init`; afterwards it is only looked up in, under the store's own lock (X509_STORE_new(3)).
    let pointer: OpaquePointer

    /// Throws `TrustFailure.authoritiesUnreadable` when there is nothing to read, or it is malformed.
    init(_ authorities: CertificateAuthorities) throws(TrustFailure) {
        OpenSSLLibrary.initialise()
        guard let store = X509_STORE_new() else {
            throw .authoritiesUnreadable(reason: OpenSSLError.drain().description)
        }
        pointer = store
        // An authority need not be a root (openssl-verification-options(1), -partial_chain).
        X509_STORE_set_flags(pointer, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        switch authorities {
        case .system: try loadSystem()
        case .file(let url): try load(url.path)
        case .folder(let url): try load(folder: url)
        case .certificates(let certificates): add(certificates)
        }
    }

    deinit { X509_STORE_free(pointer) }

    private func load(_ path: String) throws(TrustFailure) {
        ERR_clear_error()
        guard X509_STORE_load_file(pointer, path) == 1 else {
            throw .authoritiesUnreadable(reason: "\(path): \(OpenSSLError.drain())")
        }
    }

    private func load(folder: URL) throws(TrustFailure) {
        do {
            add(try Certificate.all(in: folder) { Self.isAuthorityFile($0.pathExtension.lowercased()) })
        } catch {
            throw .authoritiesUnreadable(reason: "\(folder.path): \(error.plainText)")
        }
    }

    private func add(_ certificates: [Certificate]) {
        for certificate in certificates {
            if let parsed = certificate.parsed { X509_STORE_add_cert(pointer, parsed.x509) }
        }
    }

    /// Bundles first: a folder is looked up in by OpenSSL during the handshake, with reads from disk.
    private func loadSystem() throws(TrustFailure) {
        let environment = ProcessInfo.processInfo.environment
        if let path = environment["SSL_CERT_FILE"] { return try load(path) }
        if let path = environment["SSL_CERT_DIR"] {
            guard X509_STORE_load_path(pointer, path) == 1 else {
                throw .authoritiesUnreadable(reason: "\(path): \(OpenSSLError.drain())")
            }
            return
        }
        if let bundle = Self.systemBundles.first(where: FileManager.default.isReadableFile) { return try load(bundle) }
        guard X509_STORE_set_default_paths(pointer) == 1 else {
            throw .authoritiesUnreadable(reason: OpenSSLError.drain().description)
        }
    }

    /// Certificates by their usual names, and by OpenSSL's `HASH.N`.
    private static func isAuthorityFile(_ pathExtension: String) -> Bool {
        pathExtension == "pem" || Certificate.bundleExtensions.contains(pathExtension)
            || (!pathExtension.isEmpty && pathExtension.allSatisfy { $0.isASCII && $0.isNumber })
    }

    /// Debian, Fedora, openSUSE, Alpine.
    private static let systemBundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ]
}

extension AuthorityStore {
    /// What a store was made from.
    ///
    /// A file that was written again is another store.
    private struct Source: Hashable {
        let authorities: CertificateAuthorities
        let modified: Date?

        init(_ authorities: CertificateAuthorities) {
            self.authorities = authorities
            switch authorities {
            case .file(let url), .folder(let url):
                let attributes = try? FileManager.default.attributesOfItem(atPath: url.path)
                modified = attributes?[.modificationDate] as? Date
            case .system, .certificates: modified = nil
            }
        }
    }

    private static let made = Mutex<[Source: AuthorityStore]>([:])
    /// The system's store takes tens of milliseconds and about a megabyte; a program has a handful of others.
    private static let limit = 32

    /// The store of some authorities, made at its first use.
    ///
    /// Two threads that come first at once both make it.
    static func shared(for authorities: CertificateAuthorities) throws(TrustFailure) -> AuthorityStore {
        let source = Source(authorities)
        if let store = made.withLock({ $0[source] }) { return store }
        let store = try AuthorityStore(authorities)
        return made.withLock { made in
            if let other = made[source] { return other }
            if made.count >= limit { made = made.filter { $0.key.authorities == .system } }
            made[source] = store
            return store
        }
    }
}

extension CertificateAuthorities {
    /// Reads the authorities now, so that the first handshake does not; throws `TrustFailure.authoritiesUnreadable`.
    package func prepare() throws(TrustFailure) {
        _ = try AuthorityStore.shared(for: self)
    }
}
