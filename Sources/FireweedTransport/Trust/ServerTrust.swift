// The certificates that a server showed, and what the authorities say of them.

import COpenSSL
import Foundation
import Synchronization

/// Why the authorities do not vouch for a chain.
public enum TrustFailure: Error, Sendable, Hashable {
    /// The chain does not end at a trusted authority; the text is OpenSSL's.
    case untrusted(reason: String)
    /// A certificate of the chain has expired.
    case expired
    /// A certificate of the chain is not valid yet.
    case notYetValid
    /// The certificate is not for this host.
    case hostMismatch(host: String)
    /// The server showed no certificate that can be read.
    case noCertificate
}

/// The chain that a server showed in the TLS handshake.
public struct ServerTrust: Sendable, CustomStringConvertible {
    /// The certificates as the server sent them, the leaf first.
    public let certificates: [Certificate]
    /// The host that the connection is for.
    public let host: String
    /// The authorities that vouch for chains here.
    public let authorities: CertificateAuthorities

    /// Makes a trust of a chain.
    public init(certificates: [Certificate], host: String, authorities: CertificateAuthorities = .system) {
        self.certificates = certificates
        self.host = host
        self.authorities = authorities
    }

    /// Checks the chain's signatures, dates and purpose up to an authority; throws `TrustFailure`.
    ///
    /// - Parameter anchors: certificates to take as authorities in the place of `authorities`.
    public func evaluateChain(anchors: [Certificate]? = nil) throws {
        try ChainVerification(certificates).verify(anchors.map(CertificateAuthorities.certificates) ?? authorities)
    }

    /// Checks that the leaf is for `host` (RFC 9110 §4.3.4); throws `TrustFailure.hostMismatch(host:)`.
    public func evaluateHost(_ host: String) throws {
        guard let leaf = certificates.first.flatMap({ ParsedCertificate(der: $0.derRepresentation) }) else {
            throw TrustFailure.noCertificate
        }
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let isAddress = X509_check_ip_asc(leaf.x509, bare, 0) == 1
        guard isAddress || X509_check_host(leaf.x509, bare, bare.utf8.count, 0, nil) == 1 else {
            throw TrustFailure.hostMismatch(host: host)
        }
    }

    /// A line for each certificate.
    public var description: String {
        "Trust of \(host):\n" + certificates.map { "    \($0)" }.joined(separator: "\n")
    }
}

/// One verification of a chain by OpenSSL.
private struct ChainVerification {
    private let chain: [ParsedCertificate]

    init(_ certificates: [Certificate]) {
        chain = certificates.compactMap { ParsedCertificate(der: $0.derRepresentation) }
    }

    func verify(_ authorities: CertificateAuthorities) throws {
        guard let leaf = chain.first, let context = X509_STORE_CTX_new(), let untrusted = OPENSSL_sk_new_null() else {
            throw TrustFailure.noCertificate
        }
        defer {
            X509_STORE_CTX_free(context)
            OPENSSL_sk_free(untrusted)  // the stack alone: `chain` owns what is on it
        }
        for certificate in chain.dropFirst() { OPENSSL_sk_push(untrusted, UnsafeRawPointer(certificate.x509)) }
        let store = AuthorityStore.store(for: authorities)
        guard X509_STORE_CTX_init(context, store.pointer, leaf.x509, untrusted) == 1 else {
            throw TrustFailure.noCertificate
        }
        X509_STORE_CTX_set_default(context, "ssl_server")
        guard X509_verify_cert(context) != 1 else { return }
        throw Self.failure(X509_STORE_CTX_get_error(context))
    }

    private static func failure(_ code: Int32) -> TrustFailure {
        switch code {
        case X509_V_ERR_CERT_HAS_EXPIRED: .expired
        case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid
        default: .untrusted(reason: String(cString: X509_verify_cert_error_string(Int(code))))
        }
    }
}

/// An `X509_STORE` with authorities in it; reading the system's takes tens of milliseconds, so each is made once.
private final class AuthorityStore: @unchecked Sendable {
    // SAFETY: filled in `init`, and OpenSSL locks what verification reads of it.
    let pointer: OpaquePointer?
    private static let made = Mutex<[CertificateAuthorities: AuthorityStore]>([:])

    static func store(for authorities: CertificateAuthorities) -> AuthorityStore {
        made.withLock { made in
            if let store = made[authorities] { return store }
            let store = AuthorityStore(authorities)
            if made.count >= 32 { made.removeAll() }
            made[authorities] = store
            return store
        }
    }

    private init(_ authorities: CertificateAuthorities) {
        pointer = X509_STORE_new()
        switch authorities {
        case .system: X509_STORE_set_default_paths(pointer)
        case .file(let url): X509_STORE_load_file(pointer, url.path)
        case .folder(let url): X509_STORE_load_path(pointer, url.path)
        case .certificates(let certificates):
            for certificate in certificates {
                if let parsed = ParsedCertificate(der: certificate.derRepresentation) {
                    X509_STORE_add_cert(pointer, parsed.x509)
                }
            }
            // A pinned certificate need not be a root (openssl-verification-options(1), -partial_chain).
            X509_STORE_set_flags(pointer, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        }
    }

    deinit { X509_STORE_free(pointer) }
}
