import Fireweed
import FixtureServer
import Foundation
import Testing

/// Notes for which hosts it was asked, and leaves it to the authorities.
private final class NotingEvaluator: ServerTrustEvaluating {
    struct Refused: Error {}

    let hosts = ProtectedList<String>()
    let refused: Set<String>

    init(refusing refused: Set<String> = []) {
        self.refused = refused
    }

    func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        hosts.append(host)
        guard !refused.contains(host) else { throw Refused() }
        try trust.evaluateChain()
        try trust.evaluateHost(host)
    }
}

/// `name.localhost` is loopback (RFC 6761 §6.3), so that one server has many hosts.
@Suite("Trust boundaries", .timeLimit(.minutes(TestTimeouts.minutes)))
struct TrustBoundaryTests {
    private static let made = Result {
        let testCertificates = try TestCertificates.shared
        let names = "subjectAltName=DNS:localhost,DNS:a.localhost,DNS:b.localhost"
        let leaf = try testCertificates.generator.issue(
            "Many", [names, "extendedKeyUsage=serverAuth"], by: testCertificates.intermediate)
        return (testCertificates, [leaf, testCertificates.intermediate])
    }

    private let testCertificates: TestCertificates
    private let chain: [CertificateGenerator.Issued]
    private let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    init() throws {
        (testCertificates, chain) = try Self.made.get()
    }

    private func session(
        _ manager: ServerTrustManager? = nil, _ change: (inout TransportOptions) -> Void = { _ in }
    ) -> Session {
        testCertificates.session(manager, change)
    }

    private func url(_ peer: SecurePeer, host: String, path: String = "/") -> String {
        "https://\(host):\(peer.port)\(path)"
    }

    @Test(
        "a refused server gets not one byte of the request",
        arguments: [true, false], ["evaluator", "authorities", "waiting"])
    func noByte(isLimitedToTLS12: Bool, judge: String) async throws {
        let peer = try SecurePeer(chain, role: .answering(ok), isLimitedToTLS12: isLimitedToTLS12)
        let refusing: any ServerTrustEvaluating =
            judge == "waiting"
            ? .revocationChecking(options: .requirePositiveResponse) : NotingEvaluator(refusing: ["localhost"])
        let session =
            judge == "authorities"
            ? session { $0.certificateAuthorities = .certificates([]) }
            : session(ServerTrustManager(evaluators: ["localhost": refusing]))
        let response = await session.upload(Data("secret".utf8), to: peer.url()).serializingData().response
        #expect(response.error != nil && response.response == nil)
        let ended = try await peer.events.first { $0.hasPrefix("refused") || $0.hasPrefix("closed") }
        #expect(ended.hasPrefix("refused"), "\(peer.events.events)")
        #expect(peer.count("connected") == 0 && peer.count("request") == 0 && peer.count("bytes") == 0)
    }

    @Test("a connection is never used for another host, though its certificate would do, in either version of HTTP")
    func noCoalescing() async throws {
        for role in [SecurePeer.Role.answering(ok), .http2("answer")] {
            let peer = try SecurePeer(chain, role: role)
            let evaluator = NotingEvaluator(refusing: ["b.localhost"])
            let session = session(
                ServerTrustManager(patterns: [try HostPattern("*.localhost"): evaluator]))
            for _ in 0..<2 {
                let good = await session.request(url(peer, host: "a.localhost")).serializingData().response
                #expect(good.response?.statusCode == 200, "\(good) \(peer.events.events)")
                let bad = await session.request(url(peer, host: "b.localhost")).serializingData().response
                #expect(bad.error?.isServerTrustEvaluationError == true)
            }
            #expect(evaluator.hosts.all == ["a.localhost", "b.localhost", "b.localhost"])
            try await peer.waits(for: 2, of: "request")
        }
    }

    @Test(
        "rules, identities and addresses under a Unicode name hold for every spelling of the host",
        arguments: ["bücher.test", "BÜCHER.test", "xn--bcher-kva.test", "bücher.test."])
    func spellings(host: String) async throws {
        let peer = try SecurePeer(chain, role: .answering(ok))
        let evaluator = NotingEvaluator(refusing: ["xn--bcher-kva.test", "xn--bcher-kva.test."])
        let manager = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: ["bücher.test": evaluator])
        let session = session(manager) { $0.addressOverrides = ["Bücher.test": ["127.0.0.1"]] }
        let error = await session.request("https://\(host):\(peer.port)/").serializingData().response.error
        guard case .serverTrustEvaluationFailed(.customEvaluationFailed(let refusal)) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(refusal is NotingEvaluator.Refused && evaluator.hosts.all.count == 1)
    }

    @Test("two sessions share neither connections nor TLS sessions")
    func sessions() async throws {
        let peer = try SecurePeer(chain, role: .answering(ok))
        let trusting = session(ServerTrustManager(evaluators: ["localhost": DisabledTrustEvaluator()]))
        #expect(await trusting.request(peer.url()).serializingData().response.error == nil)
        let refusing = session(ServerTrustManager(evaluators: ["localhost": NotingEvaluator(refusing: ["localhost"])]))
        #expect(
            await refusing.request(peer.url()).serializingData().response.error?.isServerTrustEvaluationError == true)
    }

    @Test("a redirect to another host is judged for that host")
    func redirect() async throws {
        let target = try SecurePeer(chain, role: .answering(ok))
        let location = url(target, host: "b.localhost")
        let origin = try SecurePeer(
            chain, role: .answering("HTTP/1.1 302 Found\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n"))
        let evaluator = NotingEvaluator(refusing: ["b.localhost"])
        let session = session(
            ServerTrustManager(patterns: [try HostPattern("*.localhost"): evaluator]))
        let error = await session.request(url(origin, host: "a.localhost")).serializingData().response.error
        #expect(error?.isServerTrustEvaluationError == true)
        #expect(evaluator.hosts.all == ["a.localhost", "b.localhost"])
        try await target.waits(for: 1, of: "refused")
        #expect(target.count("request") == 0)
        // A host without any rule is refused as well.
        let strict = self.session(ServerTrustManager(evaluators: ["a.localhost": .default]))
        let refusal = await strict.request(url(origin, host: "a.localhost")).serializingData().response.error
        guard case .serverTrustEvaluationFailed(.noRequiredEvaluator("b.localhost")) = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
    }

    @Test("a TLS session is resumed within a session of ours, and was judged before")
    func resumption() async throws {
        let closing = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
        for isLimitedToTLS12 in [true, false] {
            let peer = try SecurePeer(chain, role: .answering(closing), isLimitedToTLS12: isLimitedToTLS12)
            let evaluator = NotingEvaluator()
            let manager = ServerTrustManager(evaluators: ["localhost": evaluator])
            let first = session(manager)
            for _ in 0..<3 { #expect(await first.request(peer.url()).serializingData().response.error == nil) }
            let other = session(manager)
            #expect(await other.request(peer.url()).serializingData().response.error == nil)
            try await peer.events.next("closed 3")
            let kinds = (0..<4).map { number in
                peer.events.events.first { $0.hasPrefix("connected \(number) ") }?.contains("resumed") == true
            }
            #expect(kinds == [false, true, true, false], "\(peer.events.events)")
            #expect(evaluator.hosts.all.count == 2)
        }
    }

    @Test("a TLS session is resumed over HTTP/2 too, where connections end without close_notify")
    func resumptionOverHTTP2() async throws {
        let peer = try SecurePeer(chain, role: .http2("goaway then answer"))
        let session = session()
        for _ in 0..<3 {
            let response = await session.request(peer.url()).serializingData().response
            #expect(response.response?.statusCode == 200, "\(response) \(peer.events.events)")
            #expect(response.metrics?.transactionMetrics.first?.networkProtocolName == "h2")
        }
        try await peer.waits(for: 3, of: "connected")
        let kinds = peer.events.events.filter { $0.hasPrefix("connected ") }.map { $0.contains("resumed") }
        #expect(kinds == [false, true, true], "\(peer.events.events)")
    }

    // MARK: Proxies over TLS

    @Test("a TLS proxy is judged by the authorities, the origin behind it by its own rules")
    func proxy() async throws {
        let origin = try SecurePeer(chain, role: .answering(ok))
        let proxy = try SecurePeer(chain, role: .proxy)
        let evaluator = NotingEvaluator()
        let session = session(ServerTrustManager(evaluators: ["a.localhost": evaluator])) {
            $0.proxy = Proxy("https://localhost:\(proxy.port)")
        }
        let response = await session.request(url(origin, host: "a.localhost")).serializingData().response
        #expect(response.response?.statusCode == 200, "\(response) \(proxy.events.events)")
        #expect(evaluator.hosts.all == ["a.localhost"], "the proxy's chain is none of the origin's")
        try await proxy.waits(for: 1, of: "connect")
        #expect(proxy.count("connect") == 1)
    }

    @Test("a TLS proxy that is not trusted gets no CONNECT, whatever the origins' rules say")
    func untrustedProxy() async throws {
        let stranger = try #require(testCertificates["untrusted root"]).chain
        let proxy = try SecurePeer(stranger, role: .proxy)
        let disabled = ServerTrustManager(evaluators: ["localhost": DisabledTrustEvaluator()])
        for (manager, host) in [(disabled, "localhost"), (nil, "localhost")] {
            let session = session(manager) { $0.proxy = Proxy("https://\(host):\(proxy.port)") }
            let error = await session.request("https://localhost:1/").serializingData().response.error
            #expect(error?.urlErrorCode == .serverCertificateHasUnknownRoot, "\(String(describing: error))")
        }
        try await proxy.waits(for: 2, of: "refused")
        #expect(proxy.count("connect") == 0 && proxy.count("connected") == 0)
    }

    @Test("a TLS proxy with another's name is refused")
    func misnamedProxy() async throws {
        let elsewhere = try testCertificates.generator.issue(
            "Elsewhere", ["subjectAltName=DNS:elsewhere.example"], by: testCertificates.intermediate)
        let proxy = try SecurePeer([elsewhere, testCertificates.intermediate], role: .proxy)
        let session = session { $0.proxy = Proxy("https://localhost:\(proxy.port)") }
        let error = await session.request("https://localhost:1/").serializingData().response.error
        #expect(error?.urlErrorCode == .serverCertificateUntrusted, "\(String(describing: error))")
        try await proxy.waits(for: 1, of: "refused")
        #expect(proxy.count("connect") == 0)
    }
}
