// The addresses of the servers, as printed by their process.

import Foundation

/// The ports of all servers, and the file of the certificate authority for TLS.
struct ServerAddresses: Codable, Sendable {
    var clear: Int
    var secure: Int
    var hostile: [String: Int]
    var sockets: [String: Int]
    var authority: String

    /// Returns the URL of a target for a session with this route.
    func url(of target: PlannedTarget, on route: SessionPlan.Route, key: String, endpoint: String) -> String {
        let path = target.path(key: key, endpoint: endpoint)
        switch (target.server, route) {
        case (.hostile(let act), _): return "http://127.0.0.1:\(hostile[act.rawValue] ?? 1)\(path)"
        case (.socket(let act), _): return "ws://127.0.0.1:\(sockets[act.rawValue] ?? 1)\(path)"
        case (.orderly, .clear): return "http://127.0.0.1:\(clear)\(path)"
        case (.orderly, .secure), (.orderly, .multiplexed): return "https://localhost:\(secure)\(path)"
        case (.orderly, .strict): return "http://localhost:\(secure)\(path)"
        }
    }
}
