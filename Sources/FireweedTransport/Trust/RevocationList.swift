// Lists of revoked certificates.

import COpenSSL
public import Foundation

/// A certificate revocation list (RFC 5280 §5), kept as its DER bytes.
///
/// Its signature is checked only when it is used.
public struct RevocationList: Sendable, Hashable {
    /// The list in DER.
    public let derRepresentation: Data
    /// The name of the issuer, such as `CN = …, O = …`.
    public let issuer: String
    /// The time at which the list was issued; `nil` if the field cannot be read.
    public let thisUpdate: Date?
    /// The time by which the next list is issued; `nil` if the list does not say, or the field cannot be read.
    public let nextUpdate: Date?

    /// Reads a list in DER; throws `RevocationList.Malformed`.
    public init(der: Data) throws {
        guard let parsed = ParsedRevocationList(der: der) else { throw Malformed() }
        derRepresentation = der
        issuer = ParsedCertificate.text(of: X509_CRL_get_issuer(parsed.pointer))
        thisUpdate = ParsedCertificate.date(of: X509_CRL_get0_lastUpdate(parsed.pointer))
        nextUpdate = ParsedCertificate.date(of: X509_CRL_get0_nextUpdate(parsed.pointer))
    }

    /// Reads a DER or PEM file; throws `RevocationList.Malformed`, or the error of reading the file.
    public init(contentsOf url: URL) throws {
        try self.init(bytes: Data(contentsOf: url))
    }

    /// Reads DER or PEM: distribution points should serve DER, but some serve PEM.
    package init(bytes: Data) throws {
        let begin = "-----BEGIN X509 CRL-----"
        guard bytes.starts(with: Data("-----".utf8)) || bytes.range(of: Data(begin.utf8)) != nil else {
            try self.init(der: bytes)
            return
        }
        let parts = String(decoding: bytes, as: UTF8.self).components(separatedBy: begin)
        guard parts.count > 1, let body = parts[1].components(separatedBy: "-----END").first,
            let der = Data(base64Encoded: body.filter { !$0.isWhitespace })
        else { throw Malformed() }
        try self.init(der: der)
    }

    /// The bytes are not a revocation list.
    public struct Malformed: Error, Sendable, Equatable, LocalizedError {
        /// A sentence that says that the bytes are not a revocation list.
        public var errorDescription: String? { "The bytes are no list of revoked certificates." }
    }

    var parsed: ParsedRevocationList? { ParsedRevocationList(der: derRepresentation) }
}

/// Owns one `X509_CRL`.
final class ParsedRevocationList {
    let pointer: OpaquePointer

    init?(der: Data) {
        let parsed: OpaquePointer? = OpenSSLError.discarding {
            der.withUnsafeBytes { bytes in
                var start = bytes.bindMemory(to: UInt8.self).baseAddress
                let end = start.map { $0 + bytes.count }
                guard start != nil, let parsed = d2i_X509_CRL(nil, &start, bytes.count) else { return nil }
                if start == end { return parsed }
                X509_CRL_free(parsed)
                return nil
            }
        }
        guard let parsed else { return nil }
        pointer = parsed
    }

    deinit { X509_CRL_free(pointer) }
}
