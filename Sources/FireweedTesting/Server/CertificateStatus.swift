// The revocation status that a certificate authority publishes.

import COpenSSL
import Foundation

/// An authority's OCSP responder and revocation list, on their own server, since both are fetched in clear text.
struct CertificateStatus {
    let server: MockServer
    private let authority: GeneratedCertificate

    init(of authority: GeneratedCertificate) throws {
        self.authority = authority
        server = try MockServer.start()
    }

    /// The OCSP URL in certificates.
    var responderURL: String { server.url("/status").absoluteString }
    /// The URL of the revocation list in certificates.
    var listURL: String { server.url("/list").absoluteString }

    /// Publishes by OCSP and in the list that a certificate is revoked.
    func revoke(_ certificate: GeneratedCertificate) throws {
        let (response, list) = (try response(about: certificate), try list(of: certificate))
        server.stubs.add {
            Stub.any("/status").reply(.data(response, contentType: "application/ocsp-response"))
            Stub.get("/list").reply(.data(list, contentType: "application/pkix-crl"))
        }
    }

    /// Makes an OCSP response in DER which says that a certificate was revoked yesterday (RFC 6960 §4.2).
    func response(about certificate: GeneratedCertificate) throws -> Data {
        let (times, basic) = (Times(), OCSP_BASICRESP_new())
        defer { OCSP_BASICRESP_free(basic) }
        guard let id = OCSP_cert_to_id(EVP_sha1(), certificate.certificate, authority.certificate) else {
            throw MockServerError(description: "OpenSSL cannot name a certificate")
        }
        defer { OCSP_CERTID_free(id) }
        guard
            OCSP_basic_add1_status(
                basic, id, V_OCSP_CERTSTATUS_REVOKED, OCSP_REVOKED_STATUS_KEYCOMPROMISE, times.revocation, times.this,
                times.next) != nil,
            OCSP_basic_sign(basic, authority.certificate, authority.key, EVP_sha256(), nil, 0) == 1,
            let response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic)
        else { throw MockServerError(description: "OpenSSL cannot make an OCSP response") }
        defer { OCSP_RESPONSE_free(response) }
        return GeneratedCertificate.der { i2d_OCSP_RESPONSE(response, $0) }
    }

    /// Makes a revocation list in DER with one certificate (RFC 5280 §5).
    private func list(of certificate: GeneratedCertificate) throws -> Data {
        let (times, list, entry) = (Times(), X509_CRL_new(), X509_REVOKED_new())
        defer { X509_CRL_free(list) }
        X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(certificate.certificate))
        X509_REVOKED_set_revocationDate(entry, times.revocation)
        X509_CRL_set_version(list, 1)
        X509_CRL_set_issuer_name(list, X509_get_subject_name(authority.certificate))
        X509_CRL_set1_lastUpdate(list, times.this)
        X509_CRL_set1_nextUpdate(list, times.next)
        guard X509_CRL_add0_revoked(list, entry) == 1, X509_CRL_sign(list, authority.key, EVP_sha256()) > 0 else {
            throw MockServerError(description: "OpenSSL cannot make a revocation list")
        }
        return GeneratedCertificate.der { i2d_X509_CRL(list, $0) }
    }

    /// The date of a revocation, and the validity period of the statement about it.
    private final class Times {
        let revocation = X509_gmtime_adj(nil, -86_400)
        let this = X509_gmtime_adj(nil, -3600)
        let next = X509_gmtime_adj(nil, 86_400)

        deinit {
            for time in [revocation, this, next] { ASN1_TIME_free(time) }
        }
    }
}
