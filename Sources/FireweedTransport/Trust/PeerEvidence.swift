// The certificates and the stapled status that a TLS peer sends.

import COpenSSL
import Foundation

/// The certificates of a peer, and the stapled OCSP response.
struct PeerEvidence {
    /// The certificates in the order in which they were sent, the leaf first.
    let chain: [Certificate]
    /// The OCSP response that arrived with the certificates (RFC 6066 §8); always `nil` before TLS 1.3, where it
    /// arrives later.
    let stapledStatus: Data?
    /// Whether a stapled status may still arrive, in a separate message.
    let mayStapleLater: Bool

    /// Reads the evidence inside OpenSSL's verify callback.
    init(of context: OpaquePointer, on ssl: OpaquePointer) {
        chain = Self.chain(of: context)
        stapledStatus = Self.stapledStatus(of: ssl)
        mayStapleLater = SSL_version(ssl) < TLS1_3_VERSION
    }

    /// Returns the OCSP response that a connection has received; `nil` if there is none.
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
