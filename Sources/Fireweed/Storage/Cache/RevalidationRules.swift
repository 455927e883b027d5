// The revalidation of stored responses and their update (RFC 9111 §4.3, RFC 9110 §13).

import FireweedTransport
import Foundation

/// The rules for validating stored responses, on plain values.
enum RevalidationRules {
    /// Returns the fields with the conditions that validate a stored response (§4.3.1); unchanged when the response has
    /// no validator that can be sent.
    ///
    /// A validator with a control character is left out, since the transport would refuse the request.
    static func fields(_ fields: FieldBlock, asking stored: StoredHead) -> FieldBlock {
        var conditions: [Field] = []
        if let tag = stored.response.values(of: "ETag").first {
            conditions.append(Field(name: "If-None-Match", value: tag))
        }
        if let modified = stored.response.values(of: "Last-Modified").first {
            conditions.append(Field(name: "If-Modified-Since", value: modified))
        }
        conditions.removeAll { !$0.isSendable }
        return conditions.isEmpty ? fields : FieldBlock(fields, adding: conditions)
    }

    /// Whether a 304 is about this stored response (§4.3.4).
    static func isAbout(_ stored: StoredHead, _ answer: ResponseHead) -> Bool {
        if let tag = answer.values(of: "ETag").first {
            guard let own = stored.response.values(of: "ETag").first else { return false }
            return isWeak(tag) ? opaque(tag) == opaque(own) : tag == own
        }
        if let modified = answer.values(of: "Last-Modified").first {
            return stored.response.values(of: "Last-Modified").first == modified
        }
        return true
    }

    /// Whether a 304 to the client's own condition identifies this stored response by a strong validator.
    static func identifiesStrongly(_ stored: StoredHead, _ answer: ResponseHead) -> Bool {
        guard let tag = answer.values(of: "ETag").first, !isWeak(tag) else { return false }
        return stored.response.values(of: "ETag").first == tag
    }

    /// Whether a response to HEAD is about the stored response to GET (§4.3.5).
    static func headIsAbout(_ stored: StoredHead, _ answer: ResponseHead) -> Bool {
        ["ETag", "Last-Modified", "Content-Length"].allSatisfy { name in
            guard let value = answer.values(of: name).first else { return true }
            return stored.response.values(of: name).first == value
        }
    }

    /// Returns the stored head, updated with the fields of a newer response (§3.2).
    static func freshened(
        _ stored: StoredHead, by answer: ResponseHead, requestTime: Date, responseTime: Date
    ) -> StoredHead {
        // The content is stored with its codings removed, so the fields that describe the content stay as they are
        // (§3.2).
        let protected = StoringRules.connectionFields(of: answer) + contentFields
        let news = answer.fields.filter { field in !protected.contains { field.name.isEqualIgnoringASCIICase($0) } }
        // An old `Age` is removed even when the newer response has none: it is the age of the older response.
        let replaced = news.map(\.name) + ["Age", "Date"]
        let date = news.contains { $0.name.isEqualIgnoringASCIICase("Date") }
        var stored = stored
        let response = stored.response.keeping(
            { name in !replaced.contains { ResponseHead.isName(name, $0) } },
            appending: news + (date ? [] : [Field(name: "Date", value: HTTPDate.text(of: responseTime))]))
        stored.replace(with: response, requestTime: requestTime, responseTime: responseTime)
        return stored
    }

    private static let contentFields = ["Content-Length", "Content-Encoding", "Content-Type", "Content-Range"]

    private static func isWeak(_ tag: String) -> Bool {
        tag.hasPrefix("W/")
    }

    private static func opaque(_ tag: String) -> Substring {
        isWeak(tag) ? tag.dropFirst(2) : tag[...]
    }
}
