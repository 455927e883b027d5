import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

/// Redirects to what cannot be followed, and what a redirect keeps.
@Suite("Redirects that are not followed", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RefusedLocationTests {
    static let locations = ["myapp://callback?code=1", "http://[::1/", "", "mailto:a@b"]

    private func server(location: Data) throws -> ScriptedServer {
        try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 302 Found\r\nLocation: "), .sendData(location),
            .send("\r\nContent-Length: 2\r\n\r\nno"), .receiveHead,
            .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .hold,
        ])
    }

    private func heads(_ server: ScriptedServer) -> [String] {
        server.events.events.compactMap { if case .head(_, let text) = $0 { text } else { nil } }
    }

    @Test("a redirect that is refused is the response, wherever it leads", arguments: locations)
    func refused(location: String) async throws {
        let server = try server(location: Data(location.utf8))
        let session = Session.isolated(redirectHandler: .doNotFollow)
        let response = await session.request(server.url("/a")).serializingString().response
        #expect(response.error == nil && response.response?.statusCode == 302 && response.value == "no")
        #expect(response.response?.headers["Location"] == location)
    }

    @Test("a redirect that is followed nowhere fails, with and without a handler", arguments: locations, [true, false])
    func followed(location: String, hasHandler: Bool) async throws {
        let server = try server(location: Data(location.utf8))
        let session = Session.isolated(redirectHandler: hasHandler ? .follow : nil)
        let error = await session.request(server.url("/a")).serializingString().response.error
        let isURL = location.contains(":") && !location.contains("[")
        #expect(error?.urlErrorCode == (isURL ? .unsupportedURL : .redirectToNonExistentLocation))
    }

    @Test("a handler sees where the redirect leads, and may send another request instead")
    func modified() async throws {
        let server = try server(location: Data("myapp://callback".utf8))
        let seen = ProtectedList<URL?>()
        let target = server.url("/b")
        let session = Session.isolated(
            redirectHandler: .modify { _, request, _ in
                seen.append(request.url)
                return URLRequest(url: target)
            })
        #expect(await session.request(server.url("/a")).serializingString().response.value == "ok")
        #expect(seen.all.map { $0?.absoluteString } == ["myapp://callback"])
    }

    @Test("a custom Host is kept on the same origin, and dropped on the way to another one")
    func host() async throws {
        let other = try FixtureServer.start()
        let server = try server(location: Data("/b".utf8))
        let session = Session.isolated()
        #expect(
            await session.request(server.url("/a"), headers: ["Host": "b.example"]).serializingString().response.value
                == "ok")
        #expect(heads(server).count == 2 && heads(server).allSatisfy { $0.contains("Host: b.example\r\n") })
        let leaving = try self.server(location: Data(other.url("/get").absoluteString.utf8))
        _ = await session.request(leaving.url("/a"), headers: ["Host": "b.example"]).serializingData().response
        #expect(other.requests.map { $0.field("Host") } == ["127.0.0.1:\(other.port)"])
    }

    @Test("a handler that leads to another origin does not take the host of the proposal there")
    func handlersHost() async throws {
        let other = try FixtureServer.start()
        let server = try server(location: Data("/b".utf8))
        let target = other.url("/get")
        let session = Session.isolated(
            redirectHandler: .modify { _, request, _ in
                var request = request
                request.url = target
                return request
            })
        _ = await session.request(server.url("/a"), headers: ["Host": "b.example"]).serializingData().response
        #expect(other.requests.map { $0.field("Host") } == ["127.0.0.1:\(other.port)"])
    }

    @Test("bytes of a Location that are not UTF-8 are escaped as they are")
    func bytes() async throws {
        let server = try server(location: Data([0x2F, 0xFC, 0x3F, 0xE9, 0x3D, 0x80]))
        let session = Session.isolated()
        #expect(await session.request(server.url("/a")).serializingString().response.value == "ok")
        #expect(heads(server).last?.hasPrefix("GET /%FC?%E9=%80 ") == true)
    }
}
