import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Requests whose heads are too long", .timeLimit(.minutes(TestTimeouts.minutes)))
struct OversizedRequestTests {
    private static let long = String(repeating: "a", count: 8_000_001)

    @Test(
        "fail with an error, and the session continues",
        arguments: ["url", "method", "user", "password", "field", "head"])
    func tooLong(part: String) async throws {
        let server = try FixtureServer.start()
        let session = Session.isolated()
        let url = server.url("/get").absoluteString
        // Credentials leave when they are asked for.
        let challenging = server.url("/basic-auth/u/p").absoluteString
        let request =
            switch part {
            case "url": session.request("\(url)?\(Self.long)")
            case "method": session.request(url, method: HTTPMethod(rawValue: Self.long))
            case "user": session.request(challenging).authenticate(username: Self.long, password: "p")
            case "password": session.request(challenging).authenticate(username: "u", password: Self.long)
            case "field": session.request(url, headers: ["X-A": Self.long + Self.long])
            // Too long together, and not apart.
            default:
                session.request(
                    url + "?" + Self.long.prefix(500_000), headers: ["A": String(Self.long.prefix(600_000))])
            }
        let error = await request.serializingData().response.error
        #expect(
            error?.urlErrorCode == .dataLengthExceedsMaximum || error?.urlErrorCode == .badURL,
            "\(String(describing: error).prefix(1000))")
        #expect(server.requests.allSatisfy { $0.path != "/get" && $0.field("Authorization") == nil })
        #expect(try await session.request(url).serializingData().value.isEmpty == false)
    }

    @Test("nearly as long arrive", arguments: [RequestContentSize.none, .inline, .streamed])
    func nearlyTooLong(content: RequestContentSize) async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .receive(byteCount: content.rawValue),
            .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
            .close,
        ])
        let headers: HTTPHeaders = ["X-A": String(repeating: "a", count: 900_000)]
        let session = Session.isolated()
        let data = Data(repeating: 97, count: content.rawValue)
        let request =
            content == .none
            ? session.request(server.url(), headers: headers) : session.upload(data, to: server.url(), headers: headers)
        #expect(try await request.serializingString().value == "ok")
    }

    enum RequestContentSize: Int, Sendable {
        case none = 0
        case inline = 65_536
        case streamed = 65_537
    }

    @Test("credentials for a proxy that are too long are an error", arguments: ["http", "https"])
    func proxyCredentials(scheme: String) async throws {
        let server = try ScriptedServer.start(scripts: [[.hold]])
        var options = TransportOptions()
        options.proxy = Proxy(
            host: "127.0.0.1", port: Int(server.port), user: Self.long, password: "p", authentication: .basic)
        let session = Session.isolated(transportOptions: options)
        let error = await session.request("\(scheme)://a.test/").serializingData().response.error
        #expect(error?.urlErrorCode == .dataLengthExceedsMaximum)
    }
}
