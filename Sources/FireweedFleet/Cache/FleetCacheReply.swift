// The reply to a look-up in the fleet's cache.

package import Fireweed
package import Foundation

/// The reply to `FleetCacheScript.look`.
package struct FleetCacheReply: Sendable {
    package struct Entry: Sendable {
        package let entry: FleetEntry
        /// Whether the entry is in the hash that all partitions share.
        package let isShared: Bool
        /// The name of the variant.
        package let variant: String
        /// `nil` if the content is large, and has to be read separately.
        package let content: Data?

        package var head: StoredHead { entry.head }
    }

    package let revision: UInt64
    package let fetch: ResponseLookup.Fetch
    /// The valid entries, the most recent first; values of other programs are left out.
    package let entries: [Entry]

    /// Reads a reply; `nil` if the script cannot have sent it.
    ///
    /// `shared` and `own` decrypt the shared responses and those of the partition; `nil` without encryption.
    package init?(_ reply: RESPValue, key: String, shared: FleetSeal? = nil, own: FleetSeal? = nil) {
        guard let parts = reply.elements, parts.count == 3, let revision = parts[0].text.flatMap({ UInt64($0) }),
            let state = parts[1].integer, let found = parts[2].elements
        else { return nil }
        self.revision = revision
        fetch =
            switch state {
            case 1: .claimed
            case 2: .elsewhere
            default: .unclaimed
            }
        entries = found.compactMap { Entry($0, key: key, shared, own) }.sorted {
            ($0.head.originDate, $0.head.responseTime) > ($1.head.originDate, $1.head.responseTime)
        }
    }
}

extension FleetCacheReply.Entry {
    fileprivate init?(_ value: RESPValue, key: String, _ shared: FleetSeal?, _ own: FleetSeal?) {
        guard let parts = value.elements, parts.count == 4, let place = parts[0].integer, let variant = parts[1].text
        else { return nil }
        let seal = place == 1 ? shared : own
        guard let entry = parts[2].bytes.flatMap({ FleetEntry($0, of: key, seal: seal) }),
            FleetEntry.variant(of: entry.head) == variant
        else { return nil }
        self.entry = entry
        self.variant = variant
        isShared = place == 1
        guard let bytes = parts[3].bytes else {
            content = nil
            return
        }
        guard let content = FleetEntry.content(bytes, of: entry, seal: seal) else { return nil }
        self.content = content
    }
}
