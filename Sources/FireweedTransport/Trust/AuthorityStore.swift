// The authorities in OpenSSL's form.

import COpenSSL
package import Foundation
import Synchronization

/// Owns an `X509_STORE` that contains authorities.
///
/// `init` reads everything, so that a verification does no I/O.
final class AuthorityStore: @unchecked Sendable {
    // SAFETY: `init` fills the store; afterwards OpenSSL only searches it, under the store's own lock
    // (X509_STORE_new(3)).
    let pointer: OpaquePointer
    private let knownDigest = Mutex<Data?>(nil)

    /// Reads the authorities; throws `TrustFailure.authoritiesUnreadable` if the file or folder cannot be read or is
    /// malformed, if the system has no certificates, or if memory has run out.
    init(_ authorities: CertificateAuthorities) throws(TrustFailure) {
        OpenSSLLibrary.initialise()
        guard let store = X509_STORE_new() else {
            throw .authoritiesUnreadable(reason: OpenSSLError.drain().description)
        }
        pointer = store
        // This flag accepts an authority that is not a root (openssl-verification-options(1), -partial_chain).
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
            add(try Certificate.all(in: folder, where: Self.isAuthorityFile))
        } catch {
            throw .authoritiesUnreadable(reason: "\(folder.path): \(error.plainText)")
        }
    }

    private func add(_ certificates: [Certificate]) {
        for certificate in certificates {
            // Authorities are not kept by `ParsedCertificate.known(_:)`, since their list is long and read only once.
            let parsed = ParsedCertificate(der: certificate.derRepresentation)
            if let parsed { X509_STORE_add_cert(pointer, parsed.x509) }
        }
    }

    private func loadSystem() throws(TrustFailure) {
        let places = SystemAuthorities.current
        if let file = places.file { return try load(file) }
        for folder in places.folders { add(readableCertificates(in: folder)) }
        guard holdsCertificates else {
            throw .authoritiesUnreadable(reason: "no certificates in \(places.folders.joined(separator: ":"))")
        }
    }

    /// Returns the certificates in one of the system's folders; skips files that cannot be read, as OpenSSL does.
    private func readableCertificates(in folder: String) -> [Certificate] {
        let folder = URL(fileURLWithPath: folder, isDirectory: true)
        let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return (files ?? []).filter(Self.isAuthorityFile).flatMap { (try? Certificate.all(contentsOf: $0)) ?? [] }
    }

    /// Whether a file has a usual extension of certificates (`.pem`, `.cer`, `.crt`, `.der`), or a number as in
    /// OpenSSL's `HASH.N`.
    private static func isAuthorityFile(_ file: URL) -> Bool {
        let pathExtension = file.pathExtension.lowercased()
        return pathExtension == "pem" || Certificate.bundleExtensions.contains(pathExtension)
            || (!pathExtension.isEmpty && pathExtension.allSatisfy { $0.isASCII && $0.isNumber })
    }
}

extension AuthorityStore {
    /// The SHA-256 of the set of certificates, independent of their order.
    var digest: Data {
        knownDigest.withLock { known in
            let digest = known ?? Data(Digest.sha256(ofSet: hashes))
            known = digest
            return digest
        }
    }

    private var holdsCertificates: Bool { OPENSSL_sk_num(X509_STORE_get0_objects(pointer)) > 0 }

    private var hashes: [[UInt8]] {
        let objects = X509_STORE_get0_objects(pointer)
        return (0..<OPENSSL_sk_num(objects)).compactMap { index in
            guard let object = OPENSSL_sk_value(objects, index),
                let certificate = X509_OBJECT_get0_X509(OpaquePointer(object))
            else { return nil }
            var hash = [UInt8](repeating: 0, count: 32)
            return X509_digest(certificate, EVP_sha256(), &hash, nil) == 1 ? hash : nil
        }
    }
}

extension AuthorityStore {
    /// The authorities that a store was made from.
    ///
    /// A file that has changed is another source, and so needs another store.
    private struct Source: Hashable {
        let authorities: CertificateAuthorities
        let version: FileVersion?

        init(_ authorities: CertificateAuthorities) {
            self.authorities = authorities
            version = authorities.fileVersion
        }

        /// Whether the source has a version, or needs none.
        ///
        /// A store without its version would be found again after the files have changed.
        var isKnown: Bool {
            switch authorities {
            case .system, .certificates: true
            case .file, .folder: version != nil
            }
        }
    }

    private struct Stores {
        var all: [Source: AuthorityStore] = [:]
        /// For each value, the store that was used last, or why no store could be made.
        var latest: [CertificateAuthorities: Result<AuthorityStore, TrustFailure>] = [:]
    }

    private static let made = Mutex(Stores())
    /// The most stores in the cache.
    ///
    /// The system's store takes tens of milliseconds and about a megabyte; a program usually has only a handful of
    /// others.
    private static let limit = 32

    /// Returns the cached store for some authorities; makes a new one at the first use, and after their file has
    /// changed.
    ///
    /// If two threads need a new store at the same time, both make it, and one of the two is kept.
    static func shared(for authorities: CertificateAuthorities) throws(TrustFailure) -> AuthorityStore {
        let source = Source(authorities)
        let known = made.withLock { made in
            let known = made.all[source]
            if let known { made.latest[authorities] = .success(known) }
            return known
        }
        if let known { return known }
        let store: AuthorityStore
        do throws(TrustFailure) {
            store = try AuthorityStore(authorities)
        } catch {
            made.withLock { $0.latest[authorities] = .failure(error) }
            throw error
        }
        return made.withLock { made in
            guard source.isKnown else {
                made.latest[authorities] = .success(store)
                return store
            }
            if made.all.count >= limit {
                made.all = made.all.filter { $0.key.authorities == .system }
                made.latest = made.latest.filter { $0.key == .system }
            }
            let shared = made.all[source] ?? store
            made.all[source] = shared
            made.latest[authorities] = .success(shared)
            return shared
        }
    }

    /// Returns the store that was used last, even if the file has changed since; makes one if there is none.
    fileprivate static func latest(for authorities: CertificateAuthorities) throws(TrustFailure) -> AuthorityStore {
        if let latest = made.withLock({ $0.latest[authorities] }) { return try latest.get() }
        return try shared(for: authorities)
    }
}

extension CertificateAuthorities {
    /// Reads the authorities now, unless they were read before and have not changed.
    ///
    /// This saves the first handshake from reading them. Throws `TrustFailure.authoritiesUnreadable`.
    package func prepare() throws(TrustFailure) {
        _ = try AuthorityStore.shared(for: self)
    }

    /// The version of the authorities' file or folder; `nil` if it does not exist, and for `.system`, which is read
    /// once, and `.certificates`.
    var fileVersion: FileVersion? {
        switch self {
        case .file(let url): FileVersion(url)
        case .folder(let url): FileVersion(folder: url)
        case .system, .certificates: nil
        }
    }

    /// Whether these are the authorities of the distribution, which are the same for every program on the machine.
    package var areOfMachine: Bool { self == .system && !SystemAuthorities.current.areElsewhere }

    /// The digest of the certificates that were read last, independent of their paths; `nil` if `areOfMachine`.
    ///
    /// This property reads a file only if it was never read; a changed file is read again by new connections and by
    /// ``prepare()``. Authorities that cannot be read have a
    /// digest of their own, since nothing says that they are the same as others.
    package var contentDigest: Data? {
        if areOfMachine { return nil }
        do throws(TrustFailure) {
            return try AuthorityStore.latest(for: self).digest
        } catch {
            return Data(Digest.sha256(Data("unreadable \(self)".utf8)))
        }
    }
}
