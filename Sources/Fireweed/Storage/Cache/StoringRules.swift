// The rules for storing responses and their fields (RFC 9111 §3).

package import FireweedTransport
package import Foundation
import FoundationNetworking

/// The rules for storing, on plain values.
package enum StoringRules {
    /// The statuses whose caching requirements we meet, for `must-understand` (§5.2.2.3).
    static let understoodStatuses: Set<Int> = Set(200...205).union([300, 301, 302, 303, 307, 308])
        .union(400...417).union([421, 422, 426]).union(500...505)

    /// Partial content, answers to validations, and challenges: the same request with credentials must reach the
    /// origin.
    private static let unstorableStatuses: Set<Int> = [206, 304, 401, 407]

    /// Whether RFC 9111 §3 allows storing the response, even if no later request could use it.
    static func mayStore(_ head: ResponseHead, to request: CacheQuery, control: CacheControl) -> Bool {
        guard request.method == "GET", !request.hasContent, !request.facts.control.noStore, head.status >= 200,
            !unstorableStatuses.contains(head.status)
        else { return false }
        return control.mustUnderstand ? understoodStatuses.contains(head.status) : !control.noStore
    }

    /// Whether a handler may make the response storable: a success (2xx), as with Apple's URLSession.
    static func mayBecomeStorable(_ head: ResponseHead, to request: CacheQuery, control: CacheControl) -> Bool {
        (200..<300).contains(head.status) && mayStore(head, to: request, control: control)
    }

    /// Whether RFC 9111 §3 allows storing the response, and a later request could use it.
    static func maySave(_ head: ResponseHead, to request: CacheQuery, control: CacheControl) -> Bool {
        guard mayStore(head, to: request, control: control) else { return false }
        if control.maxAge != nil || control.isPublic || control.isPrivate || head.contains("Expires") { return true }
        guard Freshness.heuristicStatuses.contains(head.status) else { return false }
        // Here only the status allows storing. The response is kept if it has `no-cache` or a validator (a
        // `Last-Modified` also gives it a heuristic lifetime), or if the request's policy uses it at any age.
        return control.noCache || head.contains("ETag") || head.contains("Last-Modified")
            || request.policy == .returnCacheDataElseLoad
    }

    /// The head as it is stored: without the fields of the connection (§3.1), and with a `Date` (RFC 9110 §6.6.1).
    package static func storable(_ head: ResponseHead, receivedAt time: Date) -> ResponseHead {
        let listed = connectionFields(of: head)
        let kept = head.keeping { name in !listed.contains { ResponseHead.isName(name, $0) } }
        return kept.contains("Date") ? kept : kept.setting("Date", to: HTTPDate.text(of: time))
    }

    /// The names of fields that belong to one connection (RFC 9110 §7.6.1, RFC 9111 §3.1).
    package static func connectionFields(of head: ResponseHead) -> [String] {
        let listed = head.value(of: "Connection").map { value in
            value.utf8.split(separator: 0x2C).map { token in
                String(decoding: token.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self)
            }
        }
        return fixedConnectionFields + (listed ?? [])
    }

    private static let fixedConnectionFields = [
        "Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade",
        "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
    ]
}
