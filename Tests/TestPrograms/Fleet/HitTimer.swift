// The time of a hit: from a server, and from a file.

import Fireweed
import FireweedFleet
import FireweedTransport
import Foundation

/// Measures look-ups of stored responses, one after the other, with several sizes of content.
struct HitTimer {
    let url: String
    /// A folder for the database.
    let folder: String
    let count: Int

    func run() async throws {
        var options = FleetCache.Options()
        // The tier in the process would answer.
        options.memoryByteCount = 0
        let cache = FleetCache(fleet: try Fleet(url: url, configuration: .probe), options: options)
        let store = try SQLiteResponseStore(url: URL(fileURLWithPath: folder).appendingPathComponent("hits.sqlite"))
        let clock = ContinuousClock()
        for byteCount in [1 << 10, 16 << 10, 64 << 10, 512 << 10] {
            let key = "https://example.com/\(byteCount)"
            let response = response(byteCount: byteCount)
            try await cache.store(response, for: key, revision: 0)
            try store.store(response, for: key)
            let server = try await clock.measure {
                for _ in 0..<count {
                    let lookup = try await cache.lookUp(key, claimsFetch: false) { _ in 0 }
                    guard lookup.response?.content.count == byteCount else { throw FleetError.unexpectedReply(to: key) }
                }
            }
            let file = try clock.measure {
                for _ in 0..<count {
                    let found = try store.response(for: key) { _ in 0 }
                    guard found?.content.count == byteCount else { throw FleetError.unexpectedReply(to: key) }
                }
            }
            let times = [server, file].map { Int($0 / .microseconds(1)) / count }
            print("hit of \(byteCount >> 10) KiB: server \(times[0]) µs, file \(times[1]) µs")
        }
    }

    private func response(byteCount: Int) -> StoredResponse {
        let now = Date()
        let head = StoredHead(
            response: ResponseHead(status: 200, fields: [Field(name: "Cache-Control", value: "max-age=3600")]),
            requestTime: now, responseTime: now,
            variant: ResponseVariant(names: [], selection: Data(), credentials: nil))
        return StoredResponse(head: head, content: Data(repeating: 7, count: byteCount))
    }
}
