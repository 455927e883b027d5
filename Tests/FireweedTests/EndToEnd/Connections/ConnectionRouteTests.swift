import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Connection routes and rates", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ConnectionRouteTests {
    private static let answering: [ScriptedServer.Action] = [
        .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), .hold,
    ]

    private func session(_ change: (inout TransportOptions) -> Void) -> Session {
        var options = TransportOptions()
        change(&options)
        return Session.isolated(transportOptions: options)
    }

    private func failure(_ request: DataRequest) async -> URLError.Code? {
        (await request.serializingData().response.error?.underlyingError as? URLError)?.code
    }

    // MARK: Version

    @Test("a version of IP is the only one that is connected with", arguments: [IPVersion.v4, .v6])
    func version(version: IPVersion) async throws {
        let right = try ScriptedServer.start(Self.answering, on: version == .v4 ? .ipv4 : .ipv6)
        let wrong = try ScriptedServer.start(Self.answering, on: version == .v4 ? .ipv6 : .ipv4)
        let session = session {
            $0.ipVersion = version
            $0.addressOverrides = ["both.test": ["127.0.0.1", "::1"]]
        }
        for host in ["both.test", "localhost"] {
            let request = session.request("http://\(host):\(right.port)/").validate()
            #expect(try await request.serializingString().value == "hello")
            let address = request.metrics?.transactionMetrics.first?.remoteAddress
            #expect(address == (version == .v4 ? "127.0.0.1" : "::1"))
            #expect(await failure(session.request("http://\(host):\(wrong.port)/")) == .cannotConnectToHost)
        }
        // An address is not looked up: it cannot be connected to.
        #expect(await failure(session.request(wrong.url("/"))) == .cannotConnectToHost)
    }

    // MARK: Interface

    @Test("connections leave from an interface or an address, and not at all from one that does not exist")
    func interface() async throws {
        let server = try FixtureServer.start()
        for (name, address) in [("lo", "127.0.0.1"), ("127.0.0.2", "127.0.0.2"), ("host!127.0.0.3", "127.0.0.3")] {
            let session = session { $0.networkInterface = name }
            let request = session.request(server.url("/get")).validate()
            _ = try await request.serializingData().value
            #expect(request.metrics?.transactionMetrics.first?.localAddress == address, "\(name)")
        }
        let nowhere = session { $0.networkInterface = "if!nowhere0" }
        #expect(await failure(nowhere.request(server.url("/get"))) == .cannotConnectToHost)
    }

    // MARK: Routes

    @Test(
        "a route is read from curl's form",
        arguments: [
            (
                "a.test:80:b.test:8080",
                ConnectionRoute(host: "a.test", port: 80, targetHost: "b.test", targetPort: 8080)
            ),
            (":::8080", ConnectionRoute(targetPort: 8080)), ("::b.test:", ConnectionRoute(targetHost: "b.test")),
            (":::", ConnectionRoute()),
            ("[::1]:1:[::2]:2", ConnectionRoute(host: "::1", port: 1, targetHost: "::2", targetPort: 2)),
            ("a:1:b", nil), ("a:1:b:2:3", nil), ("a:x:b:2", nil), ("a:0:b:2", nil), ("a:1:b:65536", nil),
            ("[::1:1:b:2", nil), ("[::1]x:1:b:2", nil), ("", nil),
        ])
    func text(text: String, route: ConnectionRoute?) {
        #expect(ConnectionRoute(text) == route)
    }

    @Test("a route leads to another host and port, and the request stays the same", arguments: ["ws", "http"])
    func route(scheme: String) async throws {
        let server = try FixtureServer.start()
        let sockets = try WebSocketServer.shared
        let port = Int(scheme == "ws" ? sockets.port : server.port)
        let session = session {
            $0.connectionRoutes = [
                ConnectionRoute(host: "other.test", targetHost: "127.0.0.1", targetPort: 1),
                ConnectionRoute(host: "a.test", port: 80, targetHost: "127.0.0.1", targetPort: port),
            ]
        }
        if scheme == "ws" {
            let request = session.webSocketRequest(to: "ws://a.test/headers")
            var messages = request.webSocketTask().streamingMessages().makeAsyncIterator()
            guard case .string(let text)? = await messages.next() else {
                Issue.record("no message: \(String(describing: request.error))")
                return
            }
            #expect(text.contains("\"host\": \"a.test\""), "\(text)")
            request.cancel()
        } else {
            let value = try await session.request("http://A.test/anything").serializingDecodable(Anything.self).value
            #expect(value.headers["Host"] == "A.test")
            #expect(await failure(session.request("http://other.test/")) == .cannotConnectToHost)
            // No rule has this port, so that the name is looked up.
            #expect(await failure(session.request("http://a.test:81/")) == .cannotFindHost)
        }
    }

    @Test("behind a route the certificate is checked for the URL's host")
    func certificate() async throws {
        let authority = try CertificateAuthority()
        let server = try NginxServer(certificate: authority.issue(["DNS:right.test"]))
        let port = try #require(server.secureURL?.port)
        let session = session {
            $0.certificateAuthorities = .file(authority.certificate)
            $0.connectionRoutes = [ConnectionRoute(targetHost: "127.0.0.1", targetPort: port)]
        }
        let right = session.request("https://right.test/small").validate()
        #expect(try await right.serializingData().value.count == 63)
        #expect(await failure(session.request("https://wrong.test/small")) == .serverCertificateUntrusted)
    }

    // MARK: Rates

    /// A lower bound of time holds on a machine of any load.
    @Test("content does not come faster than the rate, in memory and streamed", arguments: [false, true])
    func receiving(isStreamed: Bool) async throws {
        let server = try FixtureServer.start()
        let session = session { $0.maximumReceivedBytesPerSecond = 256 * 1024 }
        let start = ContinuousClock.now
        var byteCount = 0
        if isStreamed {
            for await event in session.streamRequest(server.url("/bytes/524288")).streamTask().streamingData() {
                if case .stream(.success(let data)) = event.event { byteCount += data.count }
            }
        } else {
            byteCount = try await session.request(server.url("/bytes/524288")).serializingData().value.count
        }
        #expect(byteCount == 524_288)
        #expect(ContinuousClock.now - start > .seconds(1))
    }

    @Test("content does not go out faster than the rate")
    func sending() async throws {
        let server = try FixtureServer.start()
        let session = session { $0.maximumSentBytesPerSecond = 64 * 1024 }
        let start = ContinuousClock.now
        let data = Data(repeating: 7, count: 160 * 1024)
        _ = try await session.upload(data, to: server.url("/upload")).validate().serializingData().value
        #expect(server.requests.last?.bodyByteCount == data.count)
        #expect(ContinuousClock.now - start > .milliseconds(800))
    }

    // MARK: SOCKS 4

    @Test(
        "SOCKS 4 proxies get an address, SOCKS 4a proxies the name, and both the user",
        arguments: [("socks4", "4 ada 127.0.0.1"), ("socks4a", "4a ada localhost")])
    func socksFour(scheme: String, expected: String) async throws {
        let server = try FixtureServer.start()
        let proxy = try SOCKSProxyServer()
        let session = session { $0.proxy = Proxy("\(scheme)://ada@127.0.0.1:\(proxy.port)") }
        _ = try await session.request("http://localhost:\(server.port)/get").validate().serializingData().value
        #expect(proxy.requests == [expected])
    }
}
