// Downloads that were interrupted, for tests that go on from there.

import Fireweed
import FixtureServer
import Foundation
import Testing

/// Scripts of a server that sends `0123456789` in two halves.
enum Interrupted {
    /// The first half of ten bytes, and the end of the connection.
    static func firstHalf(_ fields: String = "ETag: \"v1\"\r\n") -> [ScriptedServer.Action] {
        [
            .receiveHead, .send("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 10\r\n\r\n01234"),
            .close,
        ]
    }

    /// One response, after which the connection is closed.
    static func response(_ head: String, _ content: String) -> [ScriptedServer.Action] {
        [
            .receiveHead,
            .send("HTTP/1.1 \(head)\r\nContent-Length: \(content.utf8.count)\r\nConnection: close\r\n\r\n\(content)"),
            .close,
        ]
    }

    /// The second half, as it should be.
    static let secondHalf = response("206 Partial Content\r\nETag: \"v1\"\r\nContent-Range: bytes 5-9/10", "56789")

    /// The whole, of a later version.
    static let otherVersion = response("200 OK\r\nETag: \"v2\"", "abcdefgh")
}

extension ScriptedServer {
    /// The heads of the requests that came, in order.
    var heads: [String] {
        events.events.compactMap { if case .head(_, let text) = $0 { text } else { nil } }
    }
}

/// Polls until a condition without an event holds; gives up after `limit`.
func becomes(within limit: Duration = TestTimeouts.limit, _ isSo: () -> Bool) async throws -> Bool {
    let end = ContinuousClock.now + limit
    while ContinuousClock.now < end {
        if isSo() { return true }
        // The end of objects and of other threads' work has no event.
        try await Task.sleep(for: .milliseconds(1))
    }
    return isSo()
}
