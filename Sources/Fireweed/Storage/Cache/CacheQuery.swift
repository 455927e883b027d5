// A message as a cache sees it.

import FireweedTransport
import Foundation
import FoundationNetworking

/// A message, with the properties that matter to a cache (RFC 9111 §4).
///
/// An object, since every step of a look-up keeps it.
final class CacheQuery: Sendable {
    /// The properties that follow from the fields alone: a field block that many requests share is parsed once.
    struct CacheDirectives: Sendable, Equatable {
        /// The fields that matter here.
        private enum Name: Sendable {
            case cacheControl, pragma, ownCondition, otherCondition, range, host
        }

        private static let names = FieldNames<Name>([
            ("Cache-Control", .cacheControl), ("Pragma", .pragma), ("If-None-Match", .ownCondition),
            ("If-Modified-Since", .ownCondition), ("If-Match", .otherCondition),
            ("If-Unmodified-Since", .otherCondition), ("If-Range", .otherCondition), ("Range", .range),
            ("Host", .host),
        ])

        var control = CacheControl()
        /// Whether the request has a condition or a range of the client's own (RFC 9110 §13.1, §14.2): the response is
        /// then passed through.
        var hasOwnCondition = false
        var hasRange = false
        /// Whether the client has `If-None-Match` or `If-Modified-Since` of its own.
        var validatesOwn = false

        /// The first `Host` field.
        var host: String?

        init() {}

        init(_ fields: ArraySlice<Field>) {
            var (directives, pragma) = ([String](), [String]())
            for index in fields.indices {
                guard let name = Self.names[fields[index].name] else { continue }
                let field = fields[index]
                switch name {
                case .cacheControl: directives.append(field.value)
                case .pragma: pragma.append(field.value)
                case .ownCondition: (validatesOwn, hasOwnCondition) = (true, true)
                case .otherCondition: hasOwnCondition = true
                case .range: (hasRange, hasOwnCondition) = (true, true)
                case .host: host = host ?? field.value
                }
            }
            if !directives.isEmpty { control = CacheControl(directives.joined(separator: ", ")) }
            // Without `Cache-Control`, `Pragma: no-cache` means the same (RFC 9111 §5.4).
            if !control.isPresent, pragma.contains(where: { $0.lowercased().contains("no-cache") }) {
                control.noCache = true
            }
        }
    }

    /// The message with the fields that links added; without an answer to a Digest challenge, which differs each time.
    let message: RequestMessage
    /// The message's URL.
    let url: URL
    /// The key of the message's stored responses.
    let key: CacheKey
    let facts: CacheDirectives
    /// The names of the fields that identify the user.
    let credentialFields: CredentialFields
    /// The client identity that the server may ask for.
    let clientIdentity: ClientIdentity?
    /// The digest of the identity's certificate; `nil` without an identity.
    let certificate: Data?
    let policy: URLRequest.CachePolicy
    /// Whether a stored response answers only requests with the same `Cookie` field.
    let separatesCookies: Bool

    /// The query of a message, for a cache; may wait for a disk when there is a client identity.
    ///
    /// `key` is the key of the message's stored responses, if it is known already.
    init(
        _ message: RequestMessage, url: URL, facts: CacheDirectives, policy: URLRequest.CachePolicy,
        in cache: ResponseCache, key: CacheKey? = nil
    ) {
        self.message = message
        self.url = url
        self.facts = facts
        self.policy = policy
        self.key = key ?? CacheKey(url, host: facts.host, in: cache.scope)
        credentialFields = cache.scope.credentialFields
        clientIdentity = cache.scope.clientIdentity(for: url)
        certificate = clientIdentity?.contentDigest
        separatesCookies = cache.separatesCookies
    }

    var method: String { message.method }
    var fields: FieldBlock { message.fields }

    /// The fields that identify the user, apart from cookies.
    var userFields: [Field] {
        fields.fields.filter { if case .user = credentialFields.kind(of: $0.name) { true } else { false } }
    }

    var hasContent: Bool {
        if case .none = message.body { false } else { true }
    }

    /// Credentials that are not among the fields, as text: those of the message, else those of its URL.
    var credentials: String? {
        if let credentials = message.credentials { return "\(credentials.user):\(credentials.password)" }
        return url.user.map { "\($0):\(url.password ?? "")" }
    }

    /// Whether a stored response may answer: a GET or HEAD without content, conditions and range.
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
    var isUnsafe: Bool { !HTTPMethod.isSafe(method) }

    /// Whether the origin may be asked; false when the request accepts only a stored response.
    var mayAsk: Bool { policy != .returnCacheDataDontLoad && !(facts.control.onlyIfCached && isAnswerable) }
}
