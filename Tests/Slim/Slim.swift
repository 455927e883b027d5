// A program of a build without the package's traits: what is left out is refused, not promised.

import Fireweed
import FireweedFleet
import FireweedTesting
import Foundation

#if Brotli || Zstd || SQLite || WebSocket || PublicSuffix
#error("Slim is for a build without traits: swift build --disable-default-traits")
#endif

/// Checks a build without traits against a server on loopback.
@main
struct Slim {
    private let server: MockServer
    private let session: Session

    static func main() async throws {
        let server = try MockServer.start {
            Stub.get("/coded").reply(.text("as it came").header("Content-Encoding", "br"))
            Stub.get("http://www.example.com/").reply(
                .status(204).header("Set-Cookie", "own=1").header("Set-Cookie", "wide=1; Domain=example.com"))
        }
        var options = server.transportOptions
        options.proxy = Proxy(host: "127.0.0.1", port: Int(server.port), bypassedHosts: ["127.0.0.1"])
        let session = Session(configuration: .af.ephemeral, transportOptions: options)
        let slim = Slim(server: server, session: session)
        try await slim.checkCodings()
        try await slim.checkCookies()
        try await slim.checkWebSockets()
        // Links the libraries that are not used above.
        let others: [Any.Type] = [Fleet.self, StubTransport.self]
        print("A build without traits, with \(EngineTransport.engineVersion), works; \(others.count) other types link.")
    }

    /// `Accept-Encoding` names what can be decoded, and content in another coding comes as it is.
    private func checkCodings() async throws {
        let data = try await session.request(server.url("/coded")).validate().serializingData().value
        try expect(data == Data("as it came".utf8), "content in an unknown coding is not decoded")
        try await expect(acceptEncoding: "gzip;q=1.0, deflate;q=0.9")

        // Foundation's configuration has no fields of its own: the transport adds what it decodes.
        let bare = Session(configuration: .ephemeral, transportOptions: server.transportOptions)
        _ = try await bare.request(server.url("/coded")).serializingData().value
        try await expect(acceptEncoding: "deflate, gzip")
    }

    private func expect(acceptEncoding: String) async throws {
        let sent = try await server.takeRequest().header("Accept-Encoding")
        try expect(sent == acceptEncoding, "Accept-Encoding is \(sent ?? "missing")")
    }

    /// Without the list of public suffixes, a cookie is for the host that set it.
    private func checkCookies() async throws {
        for cookies in [[:], ["own": "1"]] {
            _ = try await session.request("http://www.example.com/").serializingData().value
            let sent = try await server.takeRequest().cookies
            try expect(sent == cookies, "the cookies are \(sent)")
        }
    }

    /// A WebSocket fails, and the error names the reason.
    private func checkWebSockets() async throws {
        let request = session.webSocketRequest(to: server.url("/chat"))
        let error = await withCheckedContinuation { continuation in
            request.streamMessageEvents { event in
                if case .completed(let completion) = event.kind { continuation.resume(returning: completion.error) }
            }
        }
        try expect(error?.underlyingError as? MissingAbility == .webSockets, "a WebSocket ended with \(error as Any)")
    }

    private func expect(_ condition: Bool, _ text: String) throws {
        guard !condition else { return }
        throw SlimFault(description: text)
    }
}

/// What a build without traits does otherwise than is promised.
struct SlimFault: Error, CustomStringConvertible {
    let description: String
}
