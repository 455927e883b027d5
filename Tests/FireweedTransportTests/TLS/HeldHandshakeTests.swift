import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Handshakes that are held", OnBothThreads(), .timeLimit(.minutes(TestTimeouts.minutes)))
struct HeldHandshakeTests {
    @Test("the loop runs meanwhile, and the verdict counts", arguments: [true, false], [true, false])
    func verdict(isLimitedToTLS12: Bool, accepts: Bool) async throws {
        let peer = try SecurePeer(
            TLSStage.chain, role: .answering(TLSStage.ok), isLimitedToTLS12: isLimitedToTLS12)
        let plain = try ScriptedServer.start([.receiveHead, .send(Answer.small), .hold])
        let rule = HeldRule(accepts: accepts)
        try await TLSStage.play { stage in
            stage.transport.evaluateServers(with: rule.rules)
            let transfer = stage.transfer(peer.url()) { $0.method = "POST" }
            transfer.start()
            try await rule.asked.next("localhost")
            #expect(try await stage.end(plain.url()).code == nil)
            #expect(transfer.record.end == nil && peer.count("connected") == 0)
            rule.decide()
            let end = try await transfer.end()
            if accepts {
                #expect(end.failure == nil && transfer.record.content == Data("hello".utf8))
            } else {
                guard case .untrusted(let error) = end.failure else {
                    Issue.record("\(String(describing: end.failure))")
                    return
                }
                #expect(error is HeldRule.Refused && end.requestContent == .untouched)
                try await peer.waits(for: 1, of: "refused")
                #expect(peer.count("connected") == 0 && peer.count("request") == 0)
            }
            #expect(rule.asked.events == ["localhost"])
        }
    }

    @Test("the connect time-out ends a handshake whose verdict does not come", arguments: [true, false])
    func never(isLimitedToTLS12: Bool) async throws {
        let peer = try SecurePeer(
            TLSStage.chain, role: .answering(TLSStage.ok), isLimitedToTLS12: isLimitedToTLS12)
        let rule = HeldRule(accepts: true)
        defer { rule.decide() }
        try await TLSStage.play({ $0.connectTimeout = .seconds(2) }) { stage in
            stage.transport.evaluateServers(with: rule.rules)
            let transfer = try await stage.end(peer.url())
            #expect(transfer.code == .timedOut && transfer.failureText.contains("TLS handshake"))
            try await peer.waits(for: 1, of: "refused")
        }
    }

    @Test("a transfer that is cancelled gives its handshake up")
    func cancelled() async throws {
        let peer = try SecurePeer(TLSStage.chain, role: .answering(TLSStage.ok))
        let rule = HeldRule(accepts: true)
        defer { rule.decide() }
        try await TLSStage.play { stage in
            stage.transport.evaluateServers(with: rule.rules)
            let transfer = stage.transfer(peer.url())
            transfer.start()
            try await rule.asked.next("localhost")
            transfer.cancel()
            #expect(try await transfer.end().code == .cancelled)
            try await peer.waits(for: 1, of: "refused")
        }
    }

    @Test(
        "a peer that closes meanwhile is connected to once more, if the verdict accepts it", arguments: [true, false],
        [true, false])
    func peerCloses(isLimitedToTLS12: Bool, accepts: Bool) async throws {
        let peer = try SecurePeer(
            TLSStage.chain, role: .answering(TLSStage.ok), isLimitedToTLS12: isLimitedToTLS12)
        let relay = try SecureRelay(to: peer.port)
        let rule = HeldRule(accepts: accepts)
        try await TLSStage.play { stage in
            stage.transport.evaluateServers(with: rule.rules)
            let transfer = stage.transfer(relay.url(for: peer.url()))
            transfer.start()
            try await rule.asked.next("localhost")
            try relay.closeConnections()
            try await peer.waits(for: 1, of: "refused")
            rule.decide()
            let end = try await transfer.end()
            if accepts {
                #expect(end.failure == nil && transfer.record.content == Data("hello".utf8), "\(peer.events.events)")
                try await peer.waits(for: 1, of: "connected")
            } else {
                guard case .untrusted = end.failure else {
                    Issue.record("\(String(describing: end.failure))")
                    return
                }
                #expect(peer.count("connected") == 0)
            }
            #expect(rule.asked.events == ["localhost"])
        }
    }

    @Test("handshakes of one host that show equal chains share one verdict")
    func shared() async throws {
        let peer = try SecurePeer(TLSStage.chain, role: .answering(TLSStage.ok))
        let relay = try SecureRelay(to: peer.port)
        let rule = HeldRule(accepts: true)
        try await TLSStage.play { stage in
            stage.transport.evaluateServers(with: rule.rules)
            let transfers = (0..<6).map { _ in stage.transfer(relay.url(for: peer.url())) }
            for transfer in transfers { transfer.start() }
            try await relay.events.nth(6) { $0.hasPrefix("relayed") }
            // After an exchange the loop has looked at all sockets; it then makes one step of a handshake a turn.
            for _ in 0..<20 {
                let plain = try ScriptedServer.start([.receiveHead, .send(Answer.small), .hold])
                #expect(try await stage.end(plain.url()).code == nil)
            }
            rule.decide()
            for transfer in transfers { #expect(try await transfer.end().failure == nil) }
            #expect(rule.asked.events == ["localhost"])
        }
    }
}
