// The certificates and staples that a TLS peer presents.

import COpenSSL
import Foundation

/// The certificates of a peer, and the OCSP response for them.
struct PeerEvidence {
    /// The certificates as they were sent, the leaf first.
    let chain: [Certificate]
    /// The OCSP response that came with the certificates (RFC 6066 §8); always `nil` before TLS 1.3, where the response
    /// comes later.
    let stapledStatus: Data?
    /// Whether a stapled status may still come, in a message of its own.
    let mayStapleLater: Bool

    /// Reads the evidence inside of OpenSSL's verify callback.
    init(of context: OpaquePointer, on ssl: OpaquePointer) {
        chain = Self.chain(of: context)
        stapledStatus = Self.stapledStatus(of: ssl)
        mayStapleLater = SSL_version(ssl) < TLS1_3_VERSION
    }

    /// The OCSP response that has come on a connection; `nil` when none has.
    static func stapledStatus(of ssl: OpaquePointer) -> Data? {
        var bytes: UnsafePointer<UInt8>?
        let count = fw_ssl_status(ssl, &bytes)
        guard count > 0, let bytes else { return nil }
        return Data(bytes: bytes, count: count)
    }

    private static func chain(of context: OpaquePointer) -> [Certificate] {
        guard let leaf = X509_STORE_CTX_get0_cert(context).flatMap(ChainVerification.certificate) else { return [] }
        let sent = ChainVerification.certificates(on: X509_STORE_CTX_get0_untrusted(context))
        return [leaf] + (sent.first == leaf ? sent.dropFirst() : sent[...])
    }
}
