// Names of rules about servers, for caches.

import FireweedTransport
import Foundation

/// Texts that differ where evaluators accept different servers.
enum CachePartition {
    /// The certificates in any order, as a digest.
    static func digest(_ certificates: [Certificate]) -> String {
        digest(certificates.map { Digest.sha256($0.derRepresentation) })
    }

    /// Hashes in any order, as a digest.
    static func digest(_ hashes: [[UInt8]]) -> String {
        Data(Digest.sha256(ofSet: hashes)).base64EncodedString()
    }

    /// The switches that most evaluators have.
    static func checks(performDefaultValidation: Bool, validateHost: Bool) -> String {
        (performDefaultValidation ? " chain" : "") + (validateHost ? " host" : "")
    }
}

extension ServerTrustEvaluating {
    /// `nil`.
    public var cachePartition: String? { nil }
}
