// A message as a cache sees it.

import FireweedTransport
import Foundation
import FoundationNetworking

/// A message, with the properties that matter to a cache (RFC 9111 §4).
struct CacheQuery: Sendable {
    /// The properties that follow from the fields alone: a field block that many requests share is parsed once.
    struct Facts: Sendable {
        var control = CacheControl()
        /// Whether the client itself validates or asks for a part (RFC 9110 §13.1, §14.2): the response is then passed
        /// through.
        var hasOwnCondition = false
        var hasRange = false
        /// Whether the client validates a response of its own.
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

    /// Whether a stored response may answer: the client asks for the whole representation, without conditions.
    var isAnswerable: Bool {
        (method == "GET" || method == "HEAD") && !facts.hasOwnCondition && !hasContent
    }

    /// Whether the policy allows a look-up.
    var looksIntoCache: Bool {
        switch policy {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: false
        default: true
        }
    }

    /// Whether the method may change the target (RFC 9110 §9.2.1); true for an unknown method.
    var isUnsafe: Bool {
        switch method {
        case "GET", "HEAD", "OPTIONS", "TRACE": false
        default: true
        }
    }
}
