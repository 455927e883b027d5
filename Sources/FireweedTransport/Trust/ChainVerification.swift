// The verification of a certificate chain by OpenSSL; it does no I/O.

import COpenSSL
import Foundation

/// Verifies a server's certificates against authorities, or finds the chain that they form without authorities.
struct ChainVerification {
    /// The leaf first; OpenSSL may use the other certificates to build a path.
    private let presented: [ParsedCertificate]
    private let rules: TrustRules
    private var ignoresDates = false

    init(_ certificates: [Certificate], rules: TrustRules) {
        presented = certificates.prefix(Self.limit).compactMap(\.parsed)
        self.rules = rules
    }

    private init(path: [ParsedCertificate], rules: TrustRules) {
        presented = path
        self.rules = rules
        ignoresDates = true
    }

    /// The most certificates to parse.
    ///
    /// Honest chains are far shorter, and a hostile server must not keep the loop busy.
    private static let limit = 32

    /// Returns the verified path from the leaf to an authority, including the authority.
    func path(to store: AuthorityStore) throws(TrustFailure) -> [Certificate] {
        let outcome: Result<[Certificate], TrustFailure> = OpenSSLError.discarding {
            guard let leaf = presented.first else { return .failure(.noCertificate) }
            guard let context = X509_STORE_CTX_new() else { return .failure(Self.outOfMemory) }
            defer { X509_STORE_CTX_free(context) }
            guard let untrusted = fw_x509_stack_new() else { return .failure(Self.outOfMemory) }
            defer { fw_x509_stack_free(untrusted) }  // frees the stack only: `presented` owns the certificates
            for certificate in presented.dropFirst() { fw_x509_stack_push(untrusted, certificate.x509) }
            guard X509_STORE_CTX_init(context, store.pointer, leaf.x509, untrusted) == 1 else {
                return .failure(Self.outOfMemory)
            }
            apply(to: context)
            return withExtendedLifetime((presented, store)) { Self.outcome(of: context) }
        }
        return try outcome.get()
    }

    /// Looks the leaf up in revocation lists whose issuers are in the store; throws `.revoked`, or the reason why the
    /// status is unknown.
    func checkLists(_ lists: [RevocationList], to store: AuthorityStore) throws(TrustFailure) {
        let parsed = lists.compactMap(\.parsed)
        let outcome: Result<[Certificate], TrustFailure> = OpenSSLError.discarding {
            guard let leaf = presented.first, let context = X509_STORE_CTX_new() else {
                return .failure(Self.outOfMemory)
            }
            defer { X509_STORE_CTX_free(context) }
            guard let stack = fw_crl_stack_new() else { return .failure(Self.outOfMemory) }
            defer { fw_crl_stack_free(stack) }  // frees the stack only: `parsed` owns the lists
            for list in parsed { fw_crl_stack_push(stack, list.pointer) }
            guard X509_STORE_CTX_init(context, store.pointer, leaf.x509, nil) == 1,
                let parameters = X509_STORE_CTX_get0_param(context)
            else { return .failure(Self.outOfMemory) }
            X509_STORE_CTX_set0_crls(context, stack)
            // No purpose is checked, because the leaf here may be an authority.
            X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_CRL_CHECK))
            return withExtendedLifetime((presented, store, parsed)) { Self.outcome(of: context) }
        }
        _ = try outcome.get()
    }

    /// Returns the chain that the presented certificates form, beginning with the leaf; no trusted authority is needed,
    /// and validity dates are ignored.
    ///
    /// Returns only the leaf if the chain does not verify.
    ///
    /// A server may send anything after its leaf, even another site's certificate. Certificates outside this path say
    /// nothing about the leaf, and must never match a pin.
    func ownPath() -> [Certificate] {
        guard let leaf = presented.first else { return [] }
        var path = [leaf]
        var rest = presented.dropFirst()
        while let last = path.last, !last.isSelfIssued, let next = rest.firstIndex(where: { last.isIssued(by: $0) }) {
            path.append(rest.remove(at: next))
        }
        guard path.count > 1, let top = path.last else { return [Certificate(leaf)] }
        // The signatures are valid here. The verification also checks path lengths, purposes and name constraints.
        let verification = ChainVerification(path: path, rules: rules)
        guard let store = try? AuthorityStore(.certificates([Certificate(top)])),
            let whole = try? verification.path(to: store)
        else { return [Certificate(leaf)] }
        return whole
    }

    private func apply(to context: OpaquePointer) {
        X509_STORE_CTX_set_default(context, "ssl_server")
        guard let parameters = X509_STORE_CTX_get0_param(context) else { return }
        X509_VERIFY_PARAM_set_auth_level(parameters, Int32(rules.securityLevel))
        if let date = rules.date {
            X509_VERIFY_PARAM_set_time(parameters, time_t(date.timeIntervalSince1970))
        }
        if ignoresDates { X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_NO_CHECK_TIME)) }
    }

    private static func outcome(of context: OpaquePointer) -> Result<[Certificate], TrustFailure> {
        if X509_verify_cert(context) == 1 {
            return .success(certificates(on: X509_STORE_CTX_get0_chain(context)))
        }
        let culprit = X509_STORE_CTX_get_current_cert(context).flatMap(certificate)
        return .failure(VerificationCode(rawValue: X509_STORE_CTX_get_error(context)).failure(at: culprit))
    }

    private static let outOfMemory = TrustFailure.internalFailure(
        code: Int(X509_V_ERR_OUT_OF_MEM), reason: "out of memory")

    /// Copies the certificates on a stack, which keeps its own references.
    static func certificates(on stack: OpaquePointer?) -> [Certificate] {
        guard let stack else { return [] }
        return (0..<max(0, fw_x509_stack_count(stack))).compactMap { index in
            fw_x509_stack_at(stack, index).flatMap(certificate)
        }
    }

    /// Copies an `X509`; `nil` if OpenSSL cannot encode it.
    static func certificate(_ pointer: OpaquePointer) -> Certificate? {
        let der = ParsedCertificate.der { i2d_X509(pointer, $0) }
        return der.isEmpty ? nil : Certificate(written: der)
    }
}
