// The choice among the responses of a store and of its pending writes.

import FireweedTransport
import Foundation

/// The choice among the stored responses of a key (RFC 9111 §4, §4.1).
///
/// `Vary` and credentials must match; of several such responses, the one with the latest `Date` is chosen.
struct StoreSelection: Sendable {
    let key: String
    private let request: CacheQuery
    private let pending: PendingWrites.CombinedWrites
    /// The best of the responses that are still to be written to the store.
    let arriving: StoredResponse?

    init(_ request: CacheQuery, key: String, pending: PendingWrites.CombinedWrites) {
        self.request = request
        self.key = key
        self.pending = pending
        let waiting = pending.responses.map(\.head)
        arriving = Self.latest(of: waiting.indices, in: waiting, for: request).map { pending.responses[$0] }
    }

    /// False when all responses of the key in the store are obsolete.
    var needsStore: Bool { !pending.hidesStored }

    /// The index of the store's best response; `nil` when none matches or `arriving` is newer.
    func choose(_ heads: [StoredHead]) -> Int? {
        let heads = heads.map { pending.heads[$0.identifier] ?? $0 }
        let kept = heads.indices.filter { index in
            !pending.responses.contains { $0.head.variant == heads[index].variant }
        }
        guard let index = Self.latest(of: kept, in: heads, for: request) else { return nil }
        return arriving.map { Self.isOlder($0.head, heads[index]) } ?? true ? index : nil
    }

    /// The chosen response; `found` is the store's response that `choose` picked.
    func merged(with found: StoredResponse?) -> StoredResponse? {
        guard var found else { return arriving }
        found.head = pending.heads[found.head.identifier] ?? found.head
        return found
    }

    private static func latest(
        of indices: some Sequence<Int>, in heads: [StoredHead], for request: CacheQuery
    ) -> Int? {
        indices.filter { heads[$0].hasSoundDates && heads[$0].variant.matches(request) }
            .max { isOlder(heads[$0], heads[$1]) }
    }

    private static func isOlder(_ left: StoredHead, _ right: StoredHead) -> Bool {
        (left.originDate, left.responseTime) < (right.originDate, right.responseTime)
    }
}
