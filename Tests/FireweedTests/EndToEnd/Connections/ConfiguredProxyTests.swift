import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("connectionProxyDictionary", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ConfiguredProxyTests {
    private let proxy: ScriptedServer

    init() throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        proxy = try ScriptedServer.start([.receiveHead, .send(answer), .close])
    }

    private var port: Int { Int(proxy.port) }

    private func error(_ url: String, _ dictionary: [AnyHashable: Any], own: Proxy? = nil) async -> AFError? {
        var options = TransportOptions()
        options.proxy = own
        let session = Session.isolated(transportOptions: options) { $0.connectionProxyDictionary = dictionary }
        return await session.request(url).serializingData(emptyResponseCodes: [200]).response.error
    }

    private var lines: [String] {
        proxy.events.events.compactMap { event in
            guard case .head(_, let text) = event else { return nil }
            return text.split(separator: "\r\n").first.map(String.init)
        }
    }

    @Test("the proxy of a URL's scheme is used")
    func schemes() async {
        let dictionary: [AnyHashable: Any] = [
            "HTTPEnable": true, "HTTPProxy": "127.0.0.1", "HTTPPort": port, "HTTPSEnable": NSNumber(value: 1),
            "HTTPSProxy": "127.0.0.1", "HTTPSPort": "\(port)",
        ]
        #expect(await error("http://a.test/", dictionary) == nil)
        // The scripted server speaks no TLS through its tunnel.
        #expect(await error("https://a.test/", dictionary) != nil)
        #expect(lines == ["GET http://a.test/ HTTP/1.1", "CONNECT a.test:443 HTTP/1.1"])
    }

    @Test("user and password go to the proxy")
    func credentials() async throws {
        let dictionary: [AnyHashable: Any] = [
            "HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": port, "kCFProxyUsernameKey": "u",
            "kCFProxyPasswordKey": "p",
        ]
        #expect(await error("http://a.test/", dictionary) == nil)
        guard
            case .head(_, let head)? = proxy.events.events.first(where: { if case .head = $0 { true } else { false } })
        else { throw CancellationError() }
        #expect(head.contains("Proxy-Authorization: Basic dTpw\r\n"))
    }

    @Test("a SOCKS proxy is for both schemes")
    func socks() async throws {
        let server = try FixtureServer.start()
        let socks = try SOCKSProxyServer()
        let dictionary: [AnyHashable: Any] = [
            "SOCKSEnable": 1, "SOCKSProxy": "127.0.0.1", "SOCKSPort": Int(socks.port),
        ]
        #expect(await error("http://localhost:\(server.port)/get", dictionary) == nil)
        #expect(socks.requests == ["5 localhost"])
    }

    @Test("exceptions, an empty dictionary and what is not turned on are direct, and the options' proxy goes first")
    func direct() async throws {
        let server = try FixtureServer.start()
        let url = server.url("/get").absoluteString
        let dead: [AnyHashable: Any] = ["HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": 1]
        #expect(await error(url, dead)?.urlErrorCode == .cannotConnectToHost)
        #expect(await error(url, dead.merging(["ExceptionsList": ["127.0.0.1"]]) { $1 }) == nil)
        #expect(await error(url, dead.merging(["HTTPEnable": 0]) { $1 }) == nil)
        #expect(await error(url, [:]) == nil)
        #expect(await error(url, dead, own: Proxy.none) == nil)
        let simple = dead.merging(["ExcludeSimpleHostnames": 1, "ExceptionsList": ["*.test"]]) { $1 }
        #expect(await error("http://localhost:\(server.port)/get", simple) == nil)
        #expect(await error("http://a.test.:1/", simple)?.urlErrorCode == .cannotFindHost)
    }

    @Test(
        "a proxy that cannot be used is an error",
        arguments: [
            ["ProxyAutoConfigEnable": 1, "ProxyAutoConfigURLString": "http://127.0.0.1/proxy.pac"], ["HTTPEnable": 1],
            ["HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": 70_000],
            ["HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": "none"], ["ProxyAutoDiscoveryEnable": 1],
        ] as [[String: any Sendable]])
    func unusable(dictionary: [String: any Sendable]) async throws {
        let server = try FixtureServer.start()
        let error = await error(server.url("/get").absoluteString, dictionary)
        #expect(error?.urlErrorCode == .cannotConnectToHost)
        #expect(error?.underlyingError?.localizedDescription.contains("connectionProxyDictionary") == true)
        #expect(server.requests.isEmpty)
    }
}
