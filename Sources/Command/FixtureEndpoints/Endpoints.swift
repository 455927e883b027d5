// The table of endpoints by path.

package import Foundation

/// The endpoints, under the names that people know from httpbin.
package enum Endpoints {
    /// The content of `/small`: 63 bytes of JSON, for benchmarks.
    package static var small: Data { DocumentEndpoints.small }

    package static func answer(_ request: ReceivedRequest) -> FixtureResponse {
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        let name = parts.first ?? ""
        let rest = Array(parts.dropFirst())
        if request.path == "/websocket" { return WebSocketEndpoint.response(to: request) }
        if let digest = DigestEndpoint(request) { return digest.response(to: request) }
        return EchoEndpoints.answer(name, rest, request) ?? TimingEndpoints.answer(name, rest, request)
            ?? RedirectEndpoints.answer(name, rest, request) ?? CookieEndpoints.answer(name, rest, request)
            ?? AuthenticationEndpoints.answer(name, rest, request) ?? CodingEndpoints.answer(name, request)
            ?? CachingEndpoints.answer(name, rest, request) ?? DocumentEndpoints.answer(name, rest, request)
            ?? .json(["error": "no such endpoint", "path": request.path], status: 404)
    }
}
