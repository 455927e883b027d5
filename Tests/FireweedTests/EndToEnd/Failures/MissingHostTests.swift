import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("URLs without a host", .timeLimit(.minutes(TestTimeouts.minutes)))
struct MissingHostTests {
    static let paths = [
        "x", "", "?q", "#f", "/", "/host/a", "///host/a", "////host/a", "//", "//:80/", "//@/", "//u:p@:80/",
    ]

    @Test(
        "are badURL before anything is sent, whatever the session asked for before", arguments: ["http:", "https:"],
        paths)
    func missing(scheme: String, rest: String) async throws {
        let server = try FixtureServer.start()
        let session = Session.isolated()
        _ = try await session.request(server.url("/anything")).serializingData().value
        let url = rest.replacing("host", with: "127.0.0.1:\(server.port)")
        let response = await session.request(scheme + url).serializingData().response
        #expect(response.error?.urlErrorCode == .badURL, "\(response)")
        #expect(response.metrics == nil && server.requests.count == 1)
    }

    @Test("with a port are no request to an earlier host either")
    func hostAsPath() async throws {
        let server = try FixtureServer.start()
        let session = Session.isolated()
        _ = try await session.request(server.url("/anything")).serializingData().value
        let error = await session.request("http:127.0.0.1:\(server.port)/get").serializingData().response.error
        #expect(error?.urlErrorCode == .badURL && server.requests.count == 1)
    }

    @Test("that an adapter or a redirect handler makes are refused as well")
    func made() async throws {
        let server = try FixtureServer.start()
        let adapter = Adapter { request, _, completion in
            var request = request
            request.url = URL(string: "http:/127.0.0.1:\(server.port)/get")
            completion(.success(request))
        }
        let adapting = Session.isolated(interceptor: adapter)
        let adapted = await adapting.request(server.url("/get")).serializingData().response.error
        #expect(adapted?.isRequestAdaptationError == true)
        let redirector = Redirector(
            behavior: .modify { _, request, _ in
                var request = request
                request.url = URL(string: "http:///127.0.0.1:\(server.port)/get")
                return request
            })
        let redirecting = Session.isolated(redirectHandler: redirector)
        let redirected = await redirecting.request(server.url("/redirect/1")).serializingData().response.error
        #expect(redirected?.urlErrorCode == .badURL, "\(String(describing: redirected))")
        #expect(server.requests.count == 1)
    }

    @Test("of WebSockets are refused as well", arguments: ["ws:x", "ws:/127.0.0.1/", "wss:///127.0.0.1/", "ws://"])
    func webSocket(url: String) async {
        let session = Session.isolated()
        let sights = await session.webSocketRequest(to: url).webSocketTask().sights()
        #expect(sights == [.completed("\(URLError.badURL.rawValue)")])
    }
}
