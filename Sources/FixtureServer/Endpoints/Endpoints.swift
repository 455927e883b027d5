// Which endpoint answers a path.

import Foundation

/// The endpoints, under the names that people know from httpbin.
enum Endpoints {
    static func answer(_ request: ReceivedRequest) -> FixtureResponse {
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        let name = parts.first ?? ""
        let rest = Array(parts.dropFirst())
        if request.path == "/websocket" { return WebSocketEcho.response(to: request) }
        return Echoing.answer(name, rest, request) ?? Timing.answer(name, rest, request)
            ?? Redirecting.answer(name, rest, request) ?? CookieEndpoints.answer(name, rest, request)
            ?? Authenticating.answer(name, rest, request) ?? Coding.answer(name, request)
            ?? Caching.answer(name, rest, request) ?? Documents.answer(name, rest, request)
            ?? .json(["error": "no such endpoint", "path": request.path], status: 404)
    }
}
