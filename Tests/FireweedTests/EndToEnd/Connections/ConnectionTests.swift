import Fireweed
import FixtureServer
import Foundation
import Glibc
import Testing

/// The name of this machine.
private enum MachineName {
    /// The name, where it stands for 127.0.0.1 alone, as in many containers; else `nil`.
    static let loopback: String? = {
        let name = ProcessInfo.processInfo.hostName
        let hosts = (try? String(contentsOfFile: "/etc/hosts", encoding: .utf8)) ?? ""
        let lines = hosts.split(separator: "\n").map { $0.split(whereSeparator: \.isWhitespace) }
        let addresses = lines.filter { $0.dropFirst().contains(Substring(name)) }.compactMap(\.first)
        return addresses == ["127.0.0.1"] && name != "localhost" ? name : nil
    }()
}

@Suite("Connections of a session", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ConnectionTests {
    @Test("no more connections to a host than the configuration allows")
    func connectionLimit() async throws {
        let server = try FixtureServer.start()
        var options = TransportOptions()
        options.maximumConnectionIdleTime = .seconds(3600)  // a stalled machine opens no further ones
        let session = Session.isolated(transportOptions: options) { $0.httpMaximumConnectionsPerHost = 3 }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<30 {
                group.addTask { _ = await session.request(server.url("/delay/0.01")).serializingData().response }
            }
        }
        #expect(server.requests.count == 30)
        #expect(server.connectionCount <= 3)
    }

    @Test("idle connections are closed after their time")
    func idleExpiry() async throws {
        let server = try FixtureServer.start()
        var options = TransportOptions()
        options.maximumConnectionIdleTime = .milliseconds(100)
        let session = Session.isolated(transportOptions: options)
        _ = try await session.request(server.url("/get")).serializingData().value
        try await server.events.next(.connectionClosed)
        _ = try await session.request(server.url("/get")).serializingData().value
        #expect(server.connectionCount == 2)
    }

    @Test("a Unix-domain socket is a way to a server")
    func unixSocket() async throws {
        let folder = try TemporaryFolder()
        let server = try FixtureServer.start(unixSocketPath: folder.file("s").path)
        var options = TransportOptions()
        options.unixSocketPath = folder.file("s").path
        let session = Session.isolated(transportOptions: options)
        let value = try await session.request("http://anything.example/anything").serializingDecodable(Anything.self)
            .value
        #expect(value.headers["Host"] == "anything.example")
        server.stop()
    }

    @Test(
        "an HTTP proxy is used as asked, and left aside for the hosts that are to be reached directly",
        arguments: [true, false])
    func httpProxy(isBypassed: Bool) async throws {
        let server = try FixtureServer.start()
        let proxy = try HTTPProxyServer()
        var options = TransportOptions()
        options.proxy = Proxy(host: "127.0.0.1", port: Int(proxy.port), bypassedHosts: isBypassed ? ["127.0.0.1"] : [])
        let session = Session.isolated(transportOptions: options)
        let response = await session.request(server.url("/anything")).serializingDecodable(Anything.self).response
        #expect(try (response.result.get().headers["Via"] == nil) == isBypassed)
        #expect(response.metrics?.transactionMetrics.last?.isProxyConnection == !isBypassed)
    }

    @Test("TLS goes through an HTTP proxy by CONNECT")
    func connectProxy() async throws {
        let authority = try CertificateAuthority()
        let server = try NginxServer(certificate: authority.issue())
        let proxy = try HTTPProxyServer()
        var options = TransportOptions()
        options.certificateAuthorities = .file(authority.certificate)
        options.proxy = Proxy("http://127.0.0.1:\(proxy.port)")
        let session = Session.isolated(transportOptions: options)
        let url = try #require(server.secureURL).appendingPathComponent("small")
        #expect(try await session.request(url).validate().serializingData().value.count == 63)
    }

    @Test("a SOCKS 5 proxy is a way to a server")
    func socksProxy() async throws {
        let server = try FixtureServer.start()
        let proxy = try SOCKSProxyServer()
        var options = TransportOptions()
        options.proxy = Proxy(.socks5, host: "127.0.0.1", port: Int(proxy.port))
        let session = Session.isolated(transportOptions: options)
        _ = try await session.request(server.url("/get")).validate().serializingData().value
        #expect(proxy.connectionCount == 1)
    }

    @Test(
        "a proxy is read from text",
        arguments: [
            ("http://h:1", true), ("socks5://u:p%40@h", true), ("h:3128", true), ("gopher://h", false),
            ("http://h:99999", false), ("http://", false),
        ])
    func proxyText(text: String, isProxy: Bool) {
        #expect((Proxy(text) != nil) == isProxy)
    }

    @Test(
        "a response is looked at on the way it came: two thread hops for an awaited request, none on the session's executor"
    )
    func threadHops() async throws {
        let server = try FixtureServer.start()
        let session = Session.isolated()
        let threads = ThreadRecorder()
        func exchange() async throws {
            threads.note("caller")
            let request = session.request(server.url("/get")) { _ in threads.note("made") }
                .validate { _, _, _ in
                    threads.note("validated")
                    return .success(())
                }
            _ = try await request.serializingResponse(using: NotingSerializer(threads: threads)).value
        }
        try await exchange()
        // Made where the caller was; validated and serialised where the caller continues: caller → loop → caller.
        #expect(threads.thread("made") == threads.thread("caller"))
        #expect(threads.thread("validated") == threads.thread("serialised"))
        #expect(threads.name("validated")?.hasPrefix("fireweed-loop") == false)
        try await withTaskExecutorPreference(session.executor) { try await exchange() }
        for station in ["caller", "made", "validated", "serialised"] {
            #expect(threads.name(station)?.hasPrefix("fireweed-loop") == true, "\(station)")
        }
    }

    @Test("an IPv6 address is a host like any other")
    func addressOfSix() async throws {
        let server = try ScriptedServer.start(Self.answering, on: .ipv6)
        let session = Session.isolated()
        let request = session.request(server.url("/")).validate()
        #expect(try await request.serializingString().value == "hello")
        let exchange = try #require(request.metrics?.transactionMetrics.first)
        #expect(exchange.remoteAddress == "::1" && exchange.remotePort == Int(server.port))
    }

    @Test("an IPv6 address is reached by the zone of the URL, which the server is not told (RFC 6874)")
    func zone() async throws {
        let server = try ScriptedServer.start(Self.answering, on: .ipv6)
        let session = Session.isolated()
        let request = session.request("http://[::1%25lo]:\(server.port)/").validate()
        #expect(try await request.serializingString().value == "hello")
        let exchange = try #require(request.metrics?.transactionMetrics.first)
        #expect(exchange.remoteAddress == "::1%\(if_nametoindex("lo"))")
        let event = try await server.events.first { if case .head = $0 { true } else { false } }
        guard case .head(_, let head) = event else { return }
        #expect(head.contains("Host: [::1]:\(server.port)"), "\(head)")
        let missing = session.request("http://[::1%25missing]:\(server.port)/")
        #expect(await missing.serializingString().response.error?.urlErrorCode == .cannotFindHost)
    }

    @Test("of two families of addresses, the one that answers is used", arguments: ["::1", "127.0.0.1"])
    func happyEyeballs(refused: String) async throws {
        let server = try ScriptedServer.start(Self.answering, on: refused == "::1" ? .ipv4 : .ipv6)
        var options = TransportOptions()
        options.addressOverrides = ["both.test": ["::1", "127.0.0.1"]]
        let session = Session.isolated(transportOptions: options)
        let request = session.request("http://both.test:\(server.port)/").validate()
        #expect(try await request.serializingString().value == "hello")
        #expect(request.metrics?.transactionMetrics.first?.remoteAddress != refused)
    }

    @Test(
        "a name is looked up for requests over all versions of the session's life, and the metrics say when",
        .enabled(if: MachineName.loopback != nil, "this machine's name is no name of 127.0.0.1"))
    func lookup() async throws {
        let name = try #require(MachineName.loopback)
        let server = try FixtureServer.start()
        var options = TransportOptions()
        options.connectTimeout = .seconds(TestTimeouts.seconds)
        let session = Session.isolated(transportOptions: options)
        let url = "http://\(name):\(server.port)/get"
        for _ in 0..<3 {
            let requests = (0..<20).map { _ in session.request(url) }
            for request in requests { _ = try await request.serializingData().value }
        }
        #expect(server.requests.count == 60)
        let first = session.request("http://\(name.uppercased()):\(server.port)/get")
        _ = try await first.serializingData().value
        let other = Session.isolated(transportOptions: options)
        let fresh = other.request(url)
        _ = try await fresh.serializingData().value
        let exchange = try #require(fresh.metrics?.transactionMetrics.first)
        let dates = [
            exchange.fetchStartDate, exchange.domainLookupStartDate, exchange.domainLookupEndDate,
            exchange.connectStartDate, exchange.connectEndDate, exchange.requestStartDate, exchange.responseStartDate,
            exchange.responseEndDate,
        ]
        #expect(dates.allSatisfy { $0 != nil })
        #expect(dates.compactMap { $0 } == dates.compactMap { $0 }.sorted())
    }

    private static let answering: [ScriptedServer.Action] = [
        .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), .hold,
    ]

    @Test("requests that wait for a connection can be cancelled; the others go on in order")
    func waitingInLine() async throws {
        let server = try ScriptedServer.start(
            [
                .receiveHead, .wait(for: "go"), .send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"),
                .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb"),
                .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nc"), .hold,
            ])
        let session = Session.isolated {
            $0.httpMaximumConnectionsPerHost = 1
            $0.urlCache = nil  // a look into the cache takes the time in which a later request comes first
        }
        let first = session.request(server.url("/1")).serializingString()
        let cancelled = session.request(server.url("/cancelled"))
        let cancelledTask = cancelled.serializingString()
        let second = session.request(server.url("/2")).serializingString()
        let third = session.request(server.url("/3")).serializingString()
        try await server.events.first { if case .head = $0 { true } else { false } }
        cancelled.cancel()
        #expect(await cancelledTask.response.error?.isExplicitlyCancelledError == true)
        server.signal("go")
        let contents = try await [first.value, second.value, third.value]
        #expect(contents == ["a", "b", "c"])
        session.withAllRequests { #expect($0.isEmpty) }
    }
}
