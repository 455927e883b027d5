// Texts that identify trust rules, for caches that several sessions share.

import FireweedTransport
import Foundation

/// Makes the parts of `cachePartition` texts: evaluators that accept different servers have different texts.
enum CachePartition {
    /// A digest of the certificates, independent of their order.
    static func digest(_ certificates: [Certificate]) -> String {
        digest(certificates.map { Digest.sha256($0.derRepresentation) })
    }

    /// A digest of the hashes, independent of their order.
    static func digest(_ hashes: [[UInt8]]) -> String {
        Data(Digest.sha256(ofSet: hashes)).base64EncodedString()
    }

    /// The text for the two flags that most evaluators have.
    static func checks(performDefaultValidation: Bool, validateHost: Bool) -> String {
        (performDefaultValidation ? " chain" : "") + (validateHost ? " host" : "")
    }
}

extension ServerTrustEvaluating {
    /// `nil`: stored responses are not shared with other sessions.
    public var cachePartition: String? { nil }
}
