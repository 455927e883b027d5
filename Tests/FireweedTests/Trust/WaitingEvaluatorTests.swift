import Dispatch
import Fireweed
import FixtureServer
import Foundation
import Testing

/// Waits for the test before it decides.
private final class WaitingEvaluator: ServerTrustEvaluating {
    struct Refused: Error {}

    let accepts: Bool
    let gate = DispatchGroup()
    /// For which hosts it was asked.
    let hosts = ProtectedList<String>()
    let asked: AsyncStream<Bool>
    private let noteAsked: AsyncStream<Bool>.Continuation

    init(accepts: Bool) {
        self.accepts = accepts
        (asked, noteAsked) = AsyncStream.makeStream()
        gate.enter()
    }

    var mayWait: Bool { true }

    func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        hosts.append(host)
        noteAsked.yield(true)
        gate.wait()
        guard accepts else { throw Refused() }
    }
}

@Suite("Evaluators that wait", .timeLimit(.minutes(TestTimeouts.minutes)))
struct WaitingEvaluatorTests {
    @Test(
        "the handshake stands still meanwhile, other transfers of the loop go on, and the verdict counts",
        arguments: [true, false], [TLSVersion.tls12, .tls13])
    func waiting(accepts: Bool, version: TLSVersion) async throws {
        let authority = try CertificateAuthority()
        let nginx = try NginxServer(certificate: authority.issue())
        let secure = try #require(nginx.secureURL).appendingPathComponent("small")
        let evaluator = WaitingEvaluator(accepts: accepts)
        var options = TransportOptions()
        options.maximumTLSVersion = version
        let session = Session.isolated(
            serverTrustManager: ServerTrustManager(evaluators: ["localhost": evaluator]), transportOptions: options)
        let request = session.request(secure)
        async let response = request.serializingData().response
        for await _ in evaluator.asked { break }
        let plain = await session.request(nginx.url.appendingPathComponent("small")).serializingData().response
        #expect(plain.error == nil && !request.isFinished)
        evaluator.gate.leave()
        let outcome = await response
        if accepts {
            #expect(outcome.response?.statusCode == 200, "\(outcome)")
        } else {
            guard case .serverTrustEvaluationFailed(.customEvaluationFailed(let error)) = outcome.error else {
                Issue.record("\(outcome)")
                return
            }
            #expect(error is WaitingEvaluator.Refused)
        }
    }

    @Test("a request may be cancelled while its evaluator waits")
    func cancelled() async throws {
        let authority = try CertificateAuthority()
        let nginx = try NginxServer(certificate: authority.issue())
        let evaluator = WaitingEvaluator(accepts: true)
        let session = Session.isolated(serverTrustManager: ServerTrustManager(evaluators: ["localhost": evaluator]))
        let request = session.request(try #require(nginx.secureURL).appendingPathComponent("small"))
        async let response = request.serializingData().response
        for await _ in evaluator.asked { break }
        request.cancel()
        #expect(await response.error?.isExplicitlyCancelledError == true)
        evaluator.gate.leave()
        let plain = await session.request(nginx.url.appendingPathComponent("small")).serializingData().response
        #expect(plain.error == nil)
    }

    /// Many names for one server: `name.localhost` is loopback (RFC 6761 §6.3).
    private func peer(_ content: String = "ok", isLimitedToTLS12: Bool = false) throws -> SecurePeer {
        let testCertificates = try TestCertificates.shared
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: \(content.utf8.count)\r\nConnection: close\r\n\r\n\(content)"
        return try SecurePeer(
            [testCertificates.server, testCertificates.intermediate], role: .answering(answer),
            isLimitedToTLS12: isLimitedToTLS12)
    }

    /// Waits until the session has seen so many chains.
    private func chainsHaveCome(_ count: Int, through relay: SecureRelay, to session: Session) async throws {
        try await relay.events.nth(count) { $0.hasPrefix("relayed ") }
        // Handshakes make their steps in turn: when a later one has seen its chain, so have all of them. Its host has
        // no evaluator.
        let later = try peer()
        let response = await session.request("https://127.0.0.1:\(later.port)/").serializingData().response
        #expect(response.error?.isServerTrustEvaluationError == true, "\(response)")
    }

    @Test("a TLS session is resumed after an evaluator that waits, and is not judged again", arguments: [true, false])
    func resumption(isLimitedToTLS12: Bool) async throws {
        let peer = try peer(isLimitedToTLS12: isLimitedToTLS12)
        let evaluator = WaitingEvaluator(accepts: true)
        evaluator.gate.leave()
        let manager = ServerTrustManager(evaluators: ["localhost": evaluator])
        for session in [Session.isolated(serverTrustManager: manager), Session.isolated(serverTrustManager: manager)] {
            for _ in 0..<4 {
                let response = await session.request(peer.url()).serializingData().response
                #expect(response.response?.statusCode == 200, "\(response) \(peer.events.events)")
            }
        }
        try await peer.waits(for: 8, of: "closed")
        let kinds = peer.events.events.filter { $0.hasPrefix("connected ") }.map { $0.contains("resumed") }
        #expect(kinds == [false, true, true, true, false, true, true, true], "\(peer.events.events)")
        #expect(evaluator.hosts.all.count == 2, "another session of ours asks for itself")
    }

    @Test("handshakes of one host that show equal chains at the same time share one decision")
    func sharedDecision() async throws {
        let peer = try peer()
        let evaluator = WaitingEvaluator(accepts: true)
        let session = Session.isolated(serverTrustManager: ServerTrustManager(evaluators: ["localhost": evaluator])) {
            $0.httpMaximumConnectionsPerHost = 12
        }
        let relay = try SecureRelay(to: peer.port)
        let requests = (0..<12).map { _ in session.request(relay.url(for: peer.url())).serializingData() }
        try await chainsHaveCome(12, through: relay, to: session)
        evaluator.gate.leave()
        for request in requests { #expect(await request.response.response?.statusCode == 200) }
        #expect(evaluator.hosts.all == ["localhost"])
    }

    @Test("a refusal that was waited for ends each request without another handshake")
    func sharedRefusal() async throws {
        let peer = try peer()
        let evaluator = WaitingEvaluator(accepts: false)
        let session = Session.isolated(serverTrustManager: ServerTrustManager(evaluators: ["localhost": evaluator]))
        let relay = try SecureRelay(to: peer.port)
        let requests = (0..<4).map { _ in session.request(relay.url(for: peer.url())).serializingData() }
        try await chainsHaveCome(4, through: relay, to: session)
        evaluator.gate.leave()
        for request in requests { #expect(await request.response.error?.isServerTrustEvaluationError == true) }
        #expect(evaluator.hosts.all == ["localhost"])
        try await peer.waits(for: 4, of: "refused")
        #expect(peer.count("refused") == 4 && peer.count("connected") == 0)
    }

    @Test("requests over HTTP/2 that wait for one decision share the connection that comes after it")
    func sharedConnection() async throws {
        let authority = try CertificateAuthority()
        let nginx = try NginxServer(certificate: authority.issue())
        let url = try #require(nginx.secureURL).appendingPathComponent("small")
        let evaluator = WaitingEvaluator(accepts: true)
        let session = Session.isolated(serverTrustManager: ServerTrustManager(evaluators: ["localhost": evaluator]))
        let requests = (0..<50).map { _ in session.request(url).serializingData() }
        for await _ in evaluator.asked { break }
        evaluator.gate.leave()
        var ports: Set<Int?> = []
        for request in requests {
            let response = await request.response
            #expect(response.response?.statusCode == 200, "\(response)")
            ports.insert(response.metrics?.transactionMetrics.last?.localPort)
        }
        #expect(ports.count == 1)
    }

    @Test("evaluators of many hosts wait at the same time, and Swift's tasks run meanwhile")
    func manyHosts() async throws {
        let peer = try peer()
        let evaluator = WaitingEvaluator(accepts: true)
        let manager = ServerTrustManager(patterns: [try HostPattern("*.localhost"): evaluator])
        let session = Session.isolated(serverTrustManager: manager)
        // More than the global queues of Dispatch have threads, one for each core.
        let hosts = (0..<12).map { "h\($0).localhost" }
        let requests = hosts.map { session.request("https://\($0):\(peer.port)/").serializingData() }
        var count = 0
        for await _ in evaluator.asked {
            count += 1
            if count == hosts.count { break }
        }
        #expect(await Task.detached { 1 }.value == 1)
        evaluator.gate.leave()
        for request in requests { #expect(await request.response.response?.statusCode == 200) }
        #expect(Set(evaluator.hosts.all) == Set(hosts))
    }
}
