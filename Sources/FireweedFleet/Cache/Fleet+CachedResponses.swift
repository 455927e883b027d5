// Removal of all responses of a fleet's caches.

extension Fleet {
    /// Removes all responses of the namespace, in every partition, by scanning the server's keys.
    ///
    /// First, the removal time is stored: it rejects responses that are stored without a look-up. Then the revisions
    /// change, which rejects responses whose look-up was earlier. Last, the responses are removed. A scan must continue
    /// at the server that began it, since another server has its keys in another order: after a failover the removal is
    /// repeated, twice at most.
    func removeCachedResponses(within deadline: Duration) async throws {
        for _ in 0..<3 {
            let run = try await serverRun(within: deadline)
            try await removeCachedResponsesOnce(within: deadline)
            if try await serverRun(within: deadline) == run { return }
        }
        throw FleetError.unexpectedReply(to: "SCAN")
    }

    /// Returns the server's run as the primary; empty if the user may not run `INFO`.
    private func serverRun(within deadline: Duration) async throws -> String {
        let reply = try await evaluate(FleetCacheScript.serverRun, keys: [removalTimeKey], deadline: deadline)
        guard let run = reply.text else { throw unexpectedReply(to: FleetCacheScript.serverRun) }
        return run
    }

    private func removeCachedResponsesOnce(within deadline: Duration) async throws {
        let timeKey = removalTimeKey
        let noted = try await evaluate(
            FleetCacheScript.noteRemoval, keys: [timeKey], arguments: [FleetCacheRemoval.markLife],
            deadline: deadline)
        guard noted.integer == 1 else { throw unexpectedReply(to: FleetCacheScript.noteRemoval) }
        let namespace = configuration.namespace.filter { $0 != "{" && $0 != "}" }
        let escaped = namespace.map { "*?[]\\".contains($0) ? "\\\($0)" : String($0) }.joined()
        let removed = "\(FleetCache.form)-removed"
        for purpose in [removed, FleetCache.form, "\(FleetCache.form)-*"] {
            var cursor = RESPArgument("0")
            repeat {
                let reply = try await command(
                    "SCAN", cursor, "MATCH", RESPArgument("\(escaped):\(purpose):{*}"), "COUNT", 1000,
                    deadline: deadline)
                guard let parts = reply.elements, parts.count == 2, let next = parts[0].text,
                    let keys = parts[1].elements
                else { throw unexpectedReply(to: "SCAN") }
                for bytes in keys.compactMap(\.bytes) {
                    guard let found = Self.purpose(of: bytes, after: namespace) else { continue }
                    let key = RESPArgument(bytes)
                    if found == removed {
                        // Revisions are not removed: they also reject responses that are stored without a look-up.
                        guard purpose == removed else { continue }
                        try await evaluate(
                            FleetCacheScript.noteRevision, keys: [key], arguments: [FleetCacheRemoval.markLife],
                            deadline: deadline)
                    } else if key != timeKey {
                        try await command("UNLINK", key, deadline: deadline)
                    }
                }
                cursor = RESPArgument(next)
            } while cursor != RESPArgument("0")
        }
    }

    /// The key of the time at which everything was removed.
    var removalTimeKey: RESPArgument { key("\(FleetCache.form)-time", "") }

    /// Returns the purpose in a key of this namespace; `nil` for another namespace's key, such as `shop:cache-eu`
    /// beside `shop`.
    private static func purpose(of key: [UInt8], after namespace: String) -> String? {
        let purpose = key.dropFirst(namespace.utf8.count + 1).prefix { $0 != UInt8(ascii: "{") }
        guard purpose.last == UInt8(ascii: ":"), purpose.count(where: { $0 == UInt8(ascii: ":") }) == 1 else {
            return nil
        }
        return String(decoding: purpose.dropLast(), as: UTF8.self)
    }
}
