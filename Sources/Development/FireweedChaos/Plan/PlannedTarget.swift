// The target of a planned request.

import FireweedTesting

/// A resource of one of the servers; `id` and `byteCount` determine its content.
struct PlannedTarget: Sendable, CustomStringConvertible {
    enum Server: Sendable, Equatable {
        /// The correct server, whose responses the query determines; the session's route determines the address.
        case orderly
        /// A server that misbehaves, in clear text.
        case hostile(HostileAct)
        /// A WebSocket server.
        case socket(SocketAct)
    }

    var server = Server.orderly
    var id: Int
    var byteCount: Int
    var status = 200
    /// The number of redirects that lead to the resource, and their status.
    var redirectCount = 0
    var redirectStatus = 302
    /// Whether the last redirect leads to another origin, which must receive no credentials.
    var isForeign = false
    /// The number of requests that get a 503 before a request succeeds.
    var failureCount = 0
    /// Whether the resource demands Basic credentials.
    var isGuarded = false
    /// Seconds for which the response is fresh.
    var maximumAge: Int?
    var hasETag = false
    var isChunked = false
    /// The number of pieces in which the server sends the content, and the pause between them.
    var pieceCount = 1
    var pauseMilliseconds = 0

    /// Makes a random target of the correct server, for requests that read content.
    static func random(_ random: inout SeededGenerator, sharing: Bool) -> PlannedTarget {
        let size = random.choice(0, 1, 100, 1_000, 16_384, 70_000, 300_000)
        let id = sharing ? random.number(1...12) : random.number(1...1_000_000)
        var target = PlannedTarget(id: id, byteCount: sharing ? id * 1_777 : size)
        target.isChunked = random.happens(30)
        target.hasETag = random.happens(40)
        target.maximumAge = random.maybe(sharing ? 60 : 15) { $0.choice(0, 1, 60) }
        if random.happens(25) {
            target.pieceCount = random.number(2...6)
            target.pauseMilliseconds = random.choice(0, 1, 5, 20)
        }
        switch random.number(0...99) {
        case ..<12: target.redirectCount = random.number(1...4)
        case ..<20: target.failureCount = random.number(1...3)
        case ..<26: target.isGuarded = true
        case ..<32: target.status = random.choice(204, 404, 500, 418)
        default: break
        }
        if target.status == 204 { target.byteCount = 0 }
        return target
    }

    var description: String {
        guard case .orderly = server else { return "\(server), \(byteCount) bytes" }
        return path(key: "…", endpoint: "")
    }

    /// Returns the path and query for the operation with this key, by which the server counts failures.
    func path(key: String, endpoint: String = "/content") -> String {
        var query = "id=\(id)&count=\(byteCount)"
        if status != 200 { query += "&status=\(status)" }
        if failureCount > 0 { query += "&failures=\(failureCount)&key=\(key)" }
        if isGuarded { query += "&guarded=1" }
        if let maximumAge { query += "&age=\(maximumAge)" }
        if hasETag { query += "&etag=1" }
        if isChunked { query += "&chunked=1" }
        if pieceCount > 1 { query += "&pieces=\(pieceCount)&pause=\(pauseMilliseconds)" }
        if isForeign { query += "&foreign=1" }
        guard redirectCount > 0 else { return "\(endpoint)?\(query)" }
        return "/jump?left=\(redirectCount)&code=\(redirectStatus)&to=\(endpoint)&\(query)"
    }
}
