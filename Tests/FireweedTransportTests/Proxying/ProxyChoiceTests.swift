import Foundation
import Testing

@testable import FireweedTransport

@Suite("The choice of a proxy")
struct ProxyChoiceTests {
    /// What curl 7.88 makes of `no_proxy`; IPv6 networks are ours.
    static let bypassed: [(list: String, host: String, isBypassed: Bool)] = [
        ("*", "a.example", true), ("a,*", "b", false), ("example.com", "example.com", true),
        ("example.com", "www.example.com", true), (".example.com", "example.com", true),
        (".example.com", "www.Example.com", true), ("example.com", "nonexample.com", false),
        ("www.example.com", "example.com", false), ("example.com.", "example.com", true),
        ("example.com", "example.com.", true), ("a, b\tc", "c", true), ("a,,b", "b", true), ("", "a", false),
        ("a b", "b", true), ("example.com:80", "example.com", false), ("com", "example.com", true), (".", "a", false),
        ("192.168.0.0/16", "192.168.5.1", true), ("192.168.0.0/16", "192.169.0.1", false),
        ("10.0.0.1", "10.0.0.1", true), ("10.0.0.1", "10.0.0.2", false), ("0.0.0.0/0", "10.0.0.1", false),
        ("10.0.0.0/8abc", "10.9.9.9", true), ("10.0.0.0/33", "10.0.0.0", false), ("10.0.0.1/x", "10.0.0.1", true),
        ("168.0.0.1", "10.168.0.0.1", true), ("0.0.1", "10.0.0.1", false), ("::1", "[::1]", true),
        ("fd00::/8", "[fdab::1]", true), ("fd00::/8", "[fe80::1]", false), ("[::1]", "[::1]", false),
        ("b\u{fc}cher.example", "xn--bcher-kva.example", true),
        (".b\u{fc}cher.example", "a.xn--bcher-kva.example", true),
    ]

    @Test("some hosts are reached directly", arguments: bypassed)
    func bypass(list: String, host: String, isBypassed: Bool) {
        #expect(ProxyBypass(list).contains(host) == isBypassed)
    }

    private func chosen(
        _ url: String, _ environment: [String: String], _ change: (inout TransportOptions) -> Void = { _ in }
    ) throws -> Proxy? {
        var options = TransportOptions()
        change(&options)
        return try ProxyChoice(variable: { environment[$0] }).proxy(for: RequestTarget(url), options)
    }

    static let orders: [(url: String, environment: [String: String], place: String?)] = [
        ("http://a/", ["http_proxy": "p"], "p:1080"), ("http://a/", ["HTTP_PROXY": "p"], nil),
        ("https://a/", ["http_proxy": "p"], nil), ("https://a/", ["HTTPS_PROXY": "p:1"], "p:1"),
        ("https://a/", ["HTTPS_PROXY": "p:1", "https_proxy": "q:2"], "q:2"),
        ("http://a/", ["ALL_PROXY": "p:1", "all_proxy": "q:2"], "q:2"),
        ("http://a/", ["all_proxy": "p:1", "http_proxy": "q:2"], "q:2"),
        ("http://a/", ["http_proxy": "", "ALL_PROXY": "q:2"], "q:2"),
        ("http://a/", ["http_proxy": "p", "NO_PROXY": "a"], nil),
        ("http://a/", ["http_proxy": "p:1", "NO_PROXY": "a", "no_proxy": "b"], "p:1"),
        ("http://a/", ["http_proxy": "p", "no_proxy": "", "NO_PROXY": "a"], nil),
        ("http://a:81/", ["http_proxy": "p", "no_proxy": "*"], nil),
        ("http://127.1/", ["http_proxy": "p", "no_proxy": "127.0.0.0/8"], nil),
        ("http://a/", ["http_proxy": "https://p"], "p:443"), ("http://a/", ["http_proxy": "socks://p"], "p:1080"),
        ("http://a/", [:], nil),

    ]

    @Test("a message that is routed to another place is tunnelled there, in clear text too")
    func routed() throws {
        for (host, tunnels) in [("a", true), ("b", false)] {
            let proxy = try chosen("http://\(host)/", ["http_proxy": "p"]) {
                $0.connectionRoutes = [ConnectionRoute(host: "a", targetHost: "c", targetPort: 81)]
            }
            #expect(proxy?.alwaysTunnels == tunnels)
        }
    }

    @Test("the variables of a session replace those of the environment; an empty one is not set")
    func ownVariables() throws {
        let environment = ["http_proxy": "p:1", "no_proxy": "a"]
        #expect(try chosen("http://a/", environment) { $0.proxyVariables = ["no_proxy": ""] }?.host == "p")
        #expect(try chosen("http://b/", environment) { $0.proxyVariables = ["no_proxy": "b"] } == nil)
        #expect(try chosen("http://b/", environment) { $0.proxyVariables = ["http_proxy": "q:2"] }?.host == "q")
    }

    @Test("variables count in curl's order, and HTTP_PROXY never", arguments: orders)
    func order(url: String, environment: [String: String], place: String?) throws {
        let proxy = try chosen(url, environment)
        #expect(proxy.map { "\($0.host):\($0.port)" } == place)
    }

    @Test("a variable that cannot be understood is an error, which keeps its secrets")
    func misunderstood() throws {
        for text in ["ftp://p:1", "http://", "http://u:secret@p:99999"] {
            let error = #expect(throws: TransferFailure.self) { try chosen("http://a/", ["http_proxy": text]) }
            let detail = error?.urlError(failingURL: "").localizedDescription ?? ""
            #expect(detail.contains("http_proxy") && !detail.contains("secret"))
        }
    }

    @Test("the host that a URL's bytes go to first is the proxy's, but not for a host that is reached directly")
    func proxyHost() throws {
        var options = TransportOptions()
        options.proxy = Proxy("http://proxy.test:3128")
        options.proxy?.bypassedHosts = ["direct.test"]
        let urls = try ["http://far.test/", "https://direct.test/"].map { try #require(URL(string: $0)) }
        #expect(urls.map(options.proxyHost) == ["proxy.test", nil])
        options.proxy = Proxy.none
        #expect(options.proxyHost(for: urls[0]) == nil)
    }

    @Test("credentials of a variable are unescaped, and SOCKS schemes are kept apart")
    func details() throws {
        let proxy = try #require(try chosen("http://a/", ["all_proxy": "SOCKS4A://u%40:p%3a@[::1]:9"]))
        #expect(proxy.scheme == .socks4a && proxy.user == "u@" && proxy.password == "p:")
        #expect(proxy.host == "[::1]" && proxy.port == 9)
        #expect(Proxy("socks://p")?.scheme == .socks4)
        // A malformed escape is kept, as in URLs of requests.
        #expect(Proxy("http://u%2:p%zz@p")?.user == "u%2" && Proxy("http://u%2:p%zz@p")?.password == "p%zz")
        #expect(Proxy("socks4://p")?.port == 1080)
    }

    @Test("the options' proxy counts before the environment's, with its own exceptions")
    func options() throws {
        let environment = ["http_proxy": "env:1", "no_proxy": "a"]
        #expect(try chosen("http://b/", environment) { $0.proxy = Proxy.none } == nil)
        let own = Proxy(host: "own", port: 2, bypassedHosts: ["c.example", "10.0.0.0/8"])
        #expect(try chosen("http://a/", environment) { $0.proxy = own }?.host == "own")
        #expect(try chosen("http://x.c.example/", environment) { $0.proxy = own } == nil)
        #expect(try chosen("http://10.1.1.1/", environment) { $0.proxy = own } == nil)
        #expect(try chosen("http://b/", environment) { $0.unixSocketPath = "/x" } == nil)
    }
}
