import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("WebSockets through proxies", .timeLimit(.minutes(TestTimeouts.minutes)))
struct WebSocketProxyTests {
    private static let secure = Result {
        let authority = try CertificateAuthority()
        return (authority, try WebSocketServer(certificate: authority.issue()))
    }

    private let authority: CertificateAuthority
    private let secureServer: WebSocketServer

    init() throws {
        (authority, secureServer) = try Self.secure.get()
    }

    private func server(isSecure: Bool) throws -> WebSocketServer {
        isSecure ? secureServer : try WebSocketServer.shared
    }

    private func session(_ proxy: Proxy) -> Session {
        var options = TransportOptions()
        options.certificateAuthorities = .file(authority.certificate)
        options.proxy = proxy
        return Session.isolated(transportOptions: options)
    }

    private func echo(_ request: WebSocketRequest) async throws -> [WebSocketSight] {
        let task = request.webSocketTask()
        return try await task.sights { event in
            if case .connected = event.kind { try await task.send(.string("through")) }
            if event.message != nil { event.close(sending: .normalClosure) }
        }
    }

    private static let whole: [WebSocketSight] = [
        .connected(nil), .text("through"), .disconnected(1000, nil), .completed(nil),
    ]

    @Test("an HTTP proxy is asked for a tunnel with our credentials, for ws and for wss", arguments: [false, true])
    func http(isSecure: Bool) async throws {
        let proxy = try HTTPProxyServer(user: "user", password: "secret")
        let target = try server(isSecure: isSecure)
        let session = session(
            Proxy(.http, host: "127.0.0.1", port: Int(proxy.port), user: "user", password: "secret"))
        let request = session.webSocketRequest(to: target.url("/echo"))
        #expect(try await echo(request) == Self.whole)
        let host = isSecure ? "localhost" : "127.0.0.1"
        #expect(proxy.requests.contains { $0.contains("CONNECT \(host):\(target.port)") })
        let connection = request.metrics?.transactionMetrics.first
        #expect(connection?.remotePort == Int(proxy.port))
    }

    @Test(
        "a proxy that refuses us ends it with userAuthenticationRequired, without a byte for the server",
        arguments: [("wrong", false), ("wrong", true), (nil, false), (nil, true)] as [(String?, Bool)])
    func refused(password: String?, isSecure: Bool) async throws {
        let proxy = try HTTPProxyServer(user: "user", password: "secret")
        let target = try server(isSecure: isSecure)
        let session = session(
            Proxy(
                .http, host: "127.0.0.1", port: Int(proxy.port), user: password.map { _ in "user" }, password: password)
        )
        let request = session.webSocketRequest(to: target.url("/echo"))
        let sights = await request.webSocketTask().sights()
        #expect(sights.count == 1)
        #expect(request.error?.urlErrorCode == .userAuthenticationRequired, "\(String(describing: request.error))")
        #expect(request.response == nil)
    }

    @Test(
        "SOCKS 5 leads to ws and to wss, with names looked up here or there",
        arguments: [Proxy.Scheme.socks5, .socks5h], [false, true])
    func socks(scheme: Proxy.Scheme, isSecure: Bool) async throws {
        let proxy = try SOCKSProxyServer()
        var options = TransportOptions()
        options.certificateAuthorities = .file(authority.certificate)
        options.proxy = Proxy(scheme, host: "127.0.0.1", port: Int(proxy.port))
        options.addressOverrides = scheme == .socks5 ? ["localhost": ["127.0.0.1"]] : [:]
        let session = Session.isolated(transportOptions: options)
        let request = session.webSocketRequest(to: try server(isSecure: isSecure).url("/echo"))
        #expect(try await echo(request) == Self.whole)
        #expect(proxy.connectionCount == 1)
    }

    @Test("a proxy that makes no tunnel is cannotConnectToHost, and its status is in the text")
    func noTunnel() async throws {
        let proxy = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 502 No\r\nContent-Length: 2\r\n\r\nno"), .hold,
        ])
        let session = session(Proxy(.http, host: "127.0.0.1", port: Int(proxy.port)))
        let request = session.webSocketRequest(to: secureServer.url("/echo"))
        _ = await request.webSocketTask().sights()
        let error = request.error?.underlyingError as? URLError
        #expect(error?.code == .cannotConnectToHost)
        #expect((error?.userInfo[TransferFailure.engineDetailKey] as? String)?.contains("502") == true)
    }

    @Test("a proxy that is not there is cannotConnectToHost")
    func absent() async throws {
        let session = session(Proxy(.http, host: "127.0.0.1", port: 1))
        let request = session.webSocketRequest(to: secureServer.url("/echo"))
        #expect(await request.webSocketTask().sights().count == 1)
        #expect(request.error?.urlErrorCode == .cannotConnectToHost)
    }

    @Test("bypassed hosts and Proxy.none are reached directly")
    func bypassed() async throws {
        let proxy = try HTTPProxyServer()
        let server = try WebSocketServer.shared
        let around = session(Proxy(.http, host: "127.0.0.1", port: Int(proxy.port), bypassedHosts: ["127.0.0.1"]))
        let direct = session(.none)
        for session in [around, direct] {
            #expect(try await echo(session.webSocketRequest(to: server.url("/echo"))) == Self.whole)
        }
        #expect(proxy.requests.isEmpty)
    }
}
