// The effect of an unsafe request on stored responses (RFC 9111 §4.4).

import FireweedTransport
import Foundation

/// The rules for invalidating stored responses, on plain values.
enum Invalidation {
    /// Returns the keys that a message has invalidated: the key of its target, and the keys of the targets in
    /// `Location` and `Content-Location` on the same origin.
    ///
    /// None when the method is safe, or when the status is neither 2xx nor 3xx.
    static func keys(after head: ResponseHead, to request: CacheQuery) -> [CacheKey] {
        guard request.isUnsafe, (200..<400).contains(head.status) else { return [] }
        let named = ["Location", "Content-Location"].compactMap { name in
            head.values(of: name).first.flatMap { request.key.named(by: $0) }
        }
        return [request.key] + named
    }
}
