// A message as a cache sees it.

import FireweedTransport
import Foundation
import FoundationNetworking

/// A message and what of it matters to a cache (RFC 9111 §4).
struct CacheQuery: Sendable {
    /// What can be read off the fields alone, so that a block that many requests share is read once.
    struct Facts: Sendable {
        var control = CacheControl()
        /// Fields with which the client itself asks for validation or a part (RFC 9110 §13.1, §14.2): the answer is
        /// then its own.
        var hasOwnCondition = false
        var hasRange = false
        /// True when the client validates a response of its own.
        var validatesOwn = false

        init() {}

        init(_ fields: FieldBlock) {
            control = CacheControl(Self.joined(fields, "Cache-Control"))
            // Without `Cache-Control`, `Pragma: no-cache` means the same (RFC 9111 §5.4).
            if !control.isPresent, Self.joined(fields, "Pragma")?.lowercased().contains("no-cache") == true {
                control.noCache = true
            }
            validatesOwn = fields.contains("If-None-Match") || fields.contains("If-Modified-Since")
            hasRange = fields.contains("Range")
            hasOwnCondition =
                validatesOwn || hasRange || fields.contains("If-Match") || fields.contains("If-Unmodified-Since")
                || fields.contains("If-Range")
        }

        private static func joined(_ fields: FieldBlock, _ name: String) -> String? {
            guard fields.contains(name) else { return nil }
            return fields.fields.filter { $0.name.isEqualIgnoringASCIICase(name) }.map(\.value).joined(separator: ", ")
        }
    }

    /// The message with the fields that links added; without an answer to a Digest challenge, which differs each time.
    let message: RequestMessage
    /// The message's target.
    let url: URL
    let facts: Facts
    let policy: URLRequest.CachePolicy
    /// Whether a stored response answers only requests with the same `Cookie` field.
    let separatesCookies: Bool

    var method: String { message.method }
    var fields: FieldBlock { message.fields }

    var hasContent: Bool {
        if case .none = message.body { false } else { true }
    }

    /// Credentials that are not among the fields, as text.
    var credentials: String? { message.credentials.map { "\($0.user):\($0.password)" } }

    /// True when a stored response may answer: one for the whole of what GET gives, without a condition of the
    /// client's.
    var isAnswerable: Bool {
        (method == "GET" || method == "HEAD") && !facts.hasOwnCondition && !hasContent
    }

    /// True when the policy lets stored responses be looked for.
    var looksIntoCache: Bool {
        switch policy {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: false
        default: true
        }
    }

    /// True when the request changes what its target is (RFC 9110 §9.2.1); an unknown method may.
    var isUnsafe: Bool {
        switch method {
        case "GET", "HEAD", "OPTIONS", "TRACE": false
        default: true
        }
    }
}
