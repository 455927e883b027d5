// OpenSSL's object for a certificate, and access to its fields.

import COpenSSL
package import Foundation
import Synchronization

/// Owns one `X509`.
final class ParsedCertificate: @unchecked Sendable {
    // SAFETY: nothing changes the certificate. OpenSSL computes some values at the first use, under a lock, as for the
    // authorities that all threads share (`AuthorityStore`).
    let x509: OpaquePointer

    /// The certificates that were parsed last, by their bytes.
    ///
    /// OpenSSL takes half a millisecond for each, and a server sends the same ones in every handshake.
    private static let last = Mutex<[Data: ParsedCertificate]>([:])
    private static let limit = 64

    /// Returns a certificate of this library's own; `nil` if it is malformed or other bytes follow it.
    static func known(_ der: Data) -> ParsedCertificate? {
        if let found = last.withLock({ $0[der] }) { return found }
        guard let parsed = ParsedCertificate(der: der) else { return nil }
        // The certificates that are dropped are released when the lock is free.
        let old = last.withLock { last in
            let old = last.count >= limit ? last : [:]
            if !old.isEmpty { last = [:] }
            last[der] = parsed
            return old
        }
        withExtendedLifetime(old) {}
        return parsed
    }

    /// Parses exactly one certificate; `nil` if it is malformed or other bytes follow it.
    init?(der: Data) {
        let parsed: OpaquePointer? = OpenSSLError.discarding {
            der.withUnsafeBytes { bytes in
                var start = bytes.bindMemory(to: UInt8.self).baseAddress
                let end = start.map { $0 + bytes.count }
                guard start != nil, let parsed = d2i_X509(nil, &start, bytes.count) else { return nil }
                if start == end { return parsed }
                X509_free(parsed)
                return nil
            }
        }
        guard let parsed else { return nil }
        x509 = parsed
    }

    deinit { X509_free(x509) }

    var der: Data { Self.der { i2d_X509(x509, $0) } }
    var subject: String { Self.text(of: X509_get_subject_name(x509)) }
    var issuer: String { Self.text(of: X509_get_issuer_name(x509)) }
    var isSelfIssued: Bool { X509_NAME_cmp(X509_get_subject_name(x509), X509_get_issuer_name(x509)) == 0 }
    /// The first moment at which the certificate is valid; `nil` if the field cannot be read.
    var notBefore: Date? { Self.date(of: X509_get0_notBefore(x509)) }
    /// The last moment at which the certificate is valid; `nil` if the field cannot be read.
    var notAfter: Date? { Self.date(of: X509_get0_notAfter(x509)) }

    var serialNumber: String {
        guard let number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(x509), nil) else { return "" }
        defer { BN_free(number) }
        guard let digits = BN_bn2hex(number) else { return "" }
        defer { CRYPTO_free(digits, #file, #line) }
        return String(cString: digits)
    }

    var signatureAlgorithm: String {
        OBJ_nid2ln(X509_get_signature_nid(x509)).map { String(cString: $0) } ?? "unknown"
    }

    var publicKey: PublicKey? {
        OpenSSLError.discarding {
            X509_get0_pubkey(x509).flatMap { PublicKey(key: $0) }
        }
    }

    /// Whether `issuer` may issue certificates, is named as this certificate's issuer, and has signed it.
    func isIssued(by issuer: ParsedCertificate) -> Bool {
        OpenSSLError.discarding {
            guard X509_check_ca(issuer.x509) == 1, X509_check_issued(issuer.x509, x509) == X509_V_OK,
                let key = X509_get0_pubkey(issuer.x509)
            else { return false }
            return X509_verify(x509, key) == 1
        }
    }

    /// Returns the output of an OpenSSL `i2d_…` function, which allocates memory if the pointer is null; empty if it
    /// fails.
    static func der(_ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32) -> Data {
        var start: UnsafeMutablePointer<UInt8>?
        let count = write(&start)
        defer { CRYPTO_free(start, #file, #line) }
        guard count > 0, let start else { return Data() }
        return Data(bytes: start, count: Int(count))
    }

    static func text(of name: OpaquePointer?) -> String {
        guard let name, let bio = BIO_new(BIO_s_mem()) else { return "" }
        defer { BIO_free(bio) }
        guard X509_NAME_print_ex(bio, name, 0, fw_name_one_line) >= 0 else { return "" }
        var start: UnsafeMutablePointer<CChar>?
        let count = fw_bio_bytes(bio, &start)
        let bytes = UnsafeRawBufferPointer(start: start, count: max(0, count))
        return String(decoding: bytes, as: UTF8.self)
    }

    static func date(of time: UnsafePointer<ASN1_TIME>?) -> Date? {
        var fields = tm()
        guard ASN1_TIME_to_tm(time, &fields) == 1 else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(timegm(&fields)))
    }
}

/// SHA-256 hashes, computed by OpenSSL.
package enum Digest {
    /// Returns the SHA-256 of the bytes: 32 bytes.
    package static func sha256(_ data: Data) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        data.withUnsafeBytes { bytes in
            _ = EVP_Digest(bytes.baseAddress, bytes.count, &digest, nil, EVP_sha256(), nil)
        }
        return digest
    }

    /// Returns the SHA-256 of a set of hashes, independent of their order.
    package static func sha256(ofSet hashes: [[UInt8]]) -> [UInt8] {
        sha256(Data(hashes.sorted { $0.lexicographicallyPrecedes($1) }.joined()))
    }
}
