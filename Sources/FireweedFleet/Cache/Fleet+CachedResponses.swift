// The end of everything that a fleet's caches have.

extension Fleet {
    /// Removes all responses of the namespace, those of every partition too; takes scans of the server's keys.
    ///
    /// First comes the time, by which responses without a look are judged, then the revisions, by which nothing is
    /// stored that was looked for before, then the responses. A scan has to go on at the server that began it: another
    /// one has its keys in another order.
    func removeCachedResponses(within deadline: Duration) async throws {
        for _ in 0..<3 {
            let run = try await serverRun(within: deadline)
            try await removeCachedResponsesOnce(within: deadline)
            if try await serverRun(within: deadline) == run { return }
        }
        throw FleetError.unexpectedReply(to: "SCAN")
    }

    /// The server's run as the primary; empty where the user may not ask for it.
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
                        // What was removed stays known: a response without a look is judged by it.
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

    /// What a key of this namespace is for; `nil` for those of `shop:cache-eu`, which begin as a cache's of `shop` do.
    private static func purpose(of key: [UInt8], after namespace: String) -> String? {
        let purpose = key.dropFirst(namespace.utf8.count + 1).prefix { $0 != UInt8(ascii: "{") }
        guard purpose.last == UInt8(ascii: ":"), purpose.count(where: { $0 == UInt8(ascii: ":") }) == 1 else {
            return nil
        }
        return String(decoding: purpose.dropLast(), as: UTF8.self)
    }
}
