// Requests for the revocation status of certificates, and the parsing of the answers. No I/O here.

import COpenSSL
package import Foundation

/// The revocation status of a certificate.
package enum RevocationStatus: Sendable, Equatable {
    /// The issuer states that the certificate is not revoked.
    case good
    /// The issuer has revoked the certificate.
    case revoked
    /// The status is unknown; the text is the reason.
    case unknown(String)
}

/// A revocation status, and how long it is valid.
package struct RevocationAnswer: Sendable, Equatable {
    package let status: RevocationStatus
    /// The time by which a newer answer exists (`nextUpdate`); `nil` if the answer has none, or if the status is not
    /// `good`.
    package let validUntil: Date?

    package static func unknown(_ reason: String) -> RevocationAnswer {
        RevocationAnswer(status: .unknown(reason), validUntil: nil)
    }
}

/// The request for the status of one certificate in a verified chain.
package struct RevocationInquiry: Sendable {
    /// The certificate in question.
    package let certificate: Certificate
    /// The issuer of the certificate, followed by the authorities above it.
    private let issuers: [Certificate]

    /// Returns the requests for a verified chain: one for each certificate but the last, the trust anchor.
    package static func inquiries(about path: [Certificate]) -> [RevocationInquiry] {
        path.indices.dropLast().map {
            RevocationInquiry(certificate: path[$0], issuers: Array(path[($0 + 1)...]))
        }
    }

    /// The URLs of the issuer's OCSP responders (RFC 5280 §4.2.2.1); plain HTTP only.
    package var responders: [URL] { certificate.parsed?.responders ?? [] }
    /// The URLs of the issuer's revocation lists (RFC 5280 §4.2.1.13); plain HTTP only.
    package var listLocations: [URL] { certificate.parsed?.listLocations ?? [] }

    /// The OCSP request in DER (RFC 6960 §4.1), without a nonce, so that a cache can answer it (RFC 5019); `nil` if
    /// OpenSSL cannot make it.
    package var request: Data? {
        OpenSSLError.discarding {
            guard let id = identifier(EVP_sha1()) else { return nil }
            guard let request = OCSP_REQUEST_new() else {
                OCSP_CERTID_free(id)
                return nil
            }
            defer { OCSP_REQUEST_free(request) }
            guard OCSP_request_add0_id(request, id) != nil else { return nil }
            return ParsedCertificate.der { i2d_OCSP_REQUEST(request, $0) }
        }
    }

    /// Returns the status in a DER OCSP response; `unknown` unless the issuer authorised the response and its dates are
    /// valid (RFC 6960 §3.2).
    package func answer(in response: Data) -> RevocationAnswer {
        OpenSSLError.discarding {
            guard let parsed = Self.parse(response) else { return .unknown("the OCSP response is malformed") }
            defer { OCSP_RESPONSE_free(parsed) }
            let code = OCSP_response_status(parsed)
            guard code == OCSP_RESPONSE_STATUS_SUCCESSFUL, let basic = OCSP_response_get1_basic(parsed) else {
                let text = OCSP_response_status_str(Int(code)).map { String(cString: $0) } ?? "status \(code)"
                return .unknown("the OCSP responder says \(text)")
            }
            defer { OCSP_BASICRESP_free(basic) }
            guard isGenuine(basic) else { return .unknown("the OCSP response is not the issuer's") }
            return reading(basic)
        }
    }

    /// Returns the status according to revocation lists; only lists of the certificate's own issuer are used.
    package func answer(in lists: [RevocationList]) -> RevocationAnswer {
        let own = lists.filter { $0.issuer == certificate.issuer }
        guard !own.isEmpty else { return .unknown("there is no list of the issuer's") }
        let verification = ChainVerification([certificate], rules: TrustRules(securityLevel: 0))
        do {
            guard let store = try? AuthorityStore(.certificates(issuers)) else { return .unknown("out of memory") }
            try verification.checkLists(own, to: store)
            return RevocationAnswer(status: .good, validUntil: own.compactMap(\.nextUpdate).min())
        } catch {
            if case .revoked = error { return RevocationAnswer(status: .revoked, validUntil: nil) }
            return .unknown(error.plainText)
        }
    }

    private func identifier(_ digest: OpaquePointer?) -> OpaquePointer? {
        guard let subject = certificate.parsed, let issuer = issuers.first?.parsed else { return nil }
        return OCSP_cert_to_id(digest, subject.x509, issuer.x509)
    }

    private static func parse(_ response: Data) -> OpaquePointer? {
        response.withUnsafeBytes { bytes in
            var start = bytes.bindMemory(to: UInt8.self).baseAddress
            return start == nil ? nil : d2i_OCSP_RESPONSE(nil, &start, bytes.count)
        }
    }

    /// Whether the response is signed by the issuer, or by a responder that the issuer authorised (RFC 6960 §4.2.2.2).
    private func isGenuine(_ basic: OpaquePointer) -> Bool {
        let parsed = issuers.compactMap(\.parsed)
        guard let store = try? AuthorityStore(.certificates(issuers)), let stack = fw_x509_stack_new() else {
            return false
        }
        defer { fw_x509_stack_free(stack) }
        for issuer in parsed { fw_x509_stack_push(stack, issuer.x509) }
        return withExtendedLifetime((parsed, store)) { OCSP_basic_verify(basic, stack, store.pointer, 0) == 1 }
    }

    private func reading(_ basic: OpaquePointer) -> RevocationAnswer {
        var (status, reason): (Int32, Int32) = (V_OCSP_CERTSTATUS_UNKNOWN, 0)
        var (revoked, this, next):
            (UnsafeMutablePointer<ASN1_STRING>?, UnsafeMutablePointer<ASN1_STRING>?, UnsafeMutablePointer<ASN1_STRING>?)
        // The responder may identify the certificate with either hash.
        let isFound = [EVP_sha1(), EVP_sha256()].contains { digest in
            guard let id = identifier(digest) else { return false }
            defer { OCSP_CERTID_free(id) }
            return OCSP_resp_find_status(basic, id, &status, &reason, &revoked, &this, &next) == 1
        }
        guard isFound else { return .unknown("the OCSP response is about other certificates") }
        guard OCSP_check_validity(this, next, Self.clockSkewSeconds, -1) == 1 else {
            return .unknown("the OCSP response is not of today")
        }
        switch status {
        case V_OCSP_CERTSTATUS_GOOD:
            return RevocationAnswer(status: .good, validUntil: next.flatMap { ParsedCertificate.date(of: $0) })
        case V_OCSP_CERTSTATUS_REVOKED: return RevocationAnswer(status: .revoked, validUntil: nil)
        default: return .unknown("the OCSP responder does not know the certificate")
        }
    }

    /// The tolerated difference of clocks; browsers tolerate minutes.
    private static let clockSkewSeconds = 300
}

extension ParsedCertificate {
    var responders: [URL] {
        OpenSSLError.discarding {
            guard let strings = X509_get1_ocsp(x509) else { return [] }
            defer { X509_email_free(strings) }
            let texts = (0..<max(0, fw_strings_count(strings))).compactMap { fw_strings_at(strings, $0) }
            return texts.compactMap { Self.location(String(cString: $0)) }
        }
    }

    /// The locations of the issuer's own complete lists; lists for certain reasons only, or from another issuer, are
    /// skipped.
    var listLocations: [URL] {
        OpenSSLError.discarding {
            guard let extensionValue = X509_get_ext_d2i(x509, NID_crl_distribution_points, nil, nil) else { return [] }
            let points = OpaquePointer(extensionValue)
            defer { CRL_DIST_POINTS_free(points) }
            return (0..<max(0, fw_points_count(points))).flatMap { index -> [URL] in
                guard let point = fw_points_at(points, index)?.pointee, point.CRLissuer == nil, point.reasons == nil,
                    let name = point.distpoint?.pointee, name.type == 0, let full = name.name.fullname
                else { return [] }
                return Self.locations(in: full)
            }
        }
    }

    private static func locations(in names: OpaquePointer) -> [URL] {
        (0..<max(0, fw_general_names_count(names))).compactMap { index in
            guard let name = fw_general_names_at(names, index)?.pointee, name.type == GEN_URI,
                let text = name.d.uniformResourceIdentifier
            else { return nil }
            let bytes = UnsafeRawBufferPointer(start: ASN1_STRING_get0_data(text), count: Int(ASN1_STRING_length(text)))
            return location(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// Returns the URL of a location over plain HTTP; `nil` for https, since a status check must not need another
    /// status check (RFC 5280 §8).
    private static func location(_ text: String) -> URL? {
        guard let url = URL(string: text), url.scheme?.lowercased() == "http", url.host?.isEmpty == false else {
            return nil
        }
        return url
    }
}
