// The end of everything that a fleet's caches have.

extension Fleet {
    /// Removes all responses of the namespace, those of every partition too; takes scans of the server's keys.
    ///
    /// First comes the time, by which responses without a look are judged, then the revisions, without which nothing is
    /// stored that was looked for before, then the responses.
    func removeCachedResponses(within deadline: Duration) async throws {
        let timeKey = removalTimeKey
        let noted = try await evaluate(
            FleetCacheScript.noteRemoval, keys: [timeKey], arguments: [FleetCacheRemoval.markLife],
            deadline: deadline)
        guard noted.integer == 1 else { throw unexpectedReply(to: FleetCacheScript.noteRemoval) }
        let namespace = configuration.namespace.filter { $0 != "{" && $0 != "}" }
        let escaped = namespace.map { "*?[]\\".contains($0) ? "\\\($0)" : String($0) }.joined()
        for purpose in ["\(FleetCache.form)-removed", FleetCache.form, "\(FleetCache.form)-*"] {
            var cursor = RESPArgument("0")
            repeat {
                let reply = try await command(
                    "SCAN", cursor, "MATCH", RESPArgument("\(escaped):\(purpose):{*}"), "COUNT", 1000,
                    deadline: deadline)
                guard let parts = reply.elements, parts.count == 2, let next = parts[0].text,
                    let keys = parts[1].elements
                else { throw unexpectedReply(to: "SCAN") }
                for bytes in keys.compactMap(\.bytes) where Self.isCacheKey(bytes, after: namespace) {
                    let key = RESPArgument(bytes)
                    if key != timeKey { try await command("UNLINK", key, deadline: deadline) }
                }
                cursor = RESPArgument(next)
            } while cursor != RESPArgument("0")
        }
    }

    /// The key of the time at which everything was removed.
    var removalTimeKey: RESPArgument { key("\(FleetCache.form)-time", "") }

    /// Whether a key is of this namespace: those of `shop:cache-eu` begin as those of a cache of `shop` do.
    private static func isCacheKey(_ key: [UInt8], after namespace: String) -> Bool {
        let purpose = key.dropFirst(namespace.utf8.count + 1).prefix { $0 != UInt8(ascii: "{") }
        return purpose.count { $0 == UInt8(ascii: ":") } == 1
    }
}
