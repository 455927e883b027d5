// URLs of servers.

import FireweedTransport
import Testing

@testable import FireweedFleet

@Suite("Fleet URLs")
struct FleetEndpointTests {
    @Test(
        "a URL names the server",
        arguments: [
            ("redis://h", .host("h", port: 6379, isSecure: false)),
            ("REDISS://h:7000/2", .host("h", port: 7000, isSecure: true)),
            ("valkey://[::1]:1/", .host("::1", port: 1, isSecure: false)),
            ("redis+unix:///run/a%20b.sock?db=3", .unixSocket("/run/a b.sock")),
        ] as [(String, ByteConnector.Destination)])
    func places(text: String, place: ByteConnector.Destination) throws {
        #expect(try FleetEndpoint(text).route == .server(place))
    }

    @Test("user, password and database are read, percent-decoded")
    func details() throws {
        let endpoint = try FleetEndpoint("redis://al%40ice:s%3A%2F@h:1/7")
        #expect(endpoint.user == "al@ice" && endpoint.password == "s:/" && endpoint.database == 7)
        let old = try FleetEndpoint("redis://:only@h")
        #expect(old.user == nil && old.password == "only" && old.database == 0)
        #expect(try FleetEndpoint("redis+unix:///s?db=3").database == 3)
    }

    @Test("sentinels name the primary")
    func sentinels() throws {
        let endpoint = try FleetEndpoint("redis+sentinel://:p@a,b:7/main/4")
        let places: [ByteConnector.Destination] = [
            .host("a", port: 26379, isSecure: false), .host("b", port: 7, isSecure: false),
        ]
        #expect(endpoint.route == .sentinels(places, primary: "main", isSecure: false))
        #expect(endpoint.password == "p" && endpoint.database == 4)
    }

    @Test(
        "what is no URL of a server is refused, without its password",
        arguments: [
            "", "h:6379", "http://h", "redis://", "redis://h:0", "redis://h:65536", "redis://h:x", "redis://h/a",
            "redis://h/-1", "redis://secret@h", "redis://:%zz@h", "redis://[::1", "redis+unix://", "redis+unix:///",
            "redis+sentinel://h", "redis+sentinel:///m", "redis://h?secret=1", "redis://a b",
        ])
    func refused(text: String) {
        do {
            _ = try FleetEndpoint(text)
            Issue.record("\(text) was accepted")
        } catch {
            guard case .invalidURL(let reason) = error else { Issue.record("\(error)"); return }
            #expect(!reason.contains("secret@"))
        }
    }
}
