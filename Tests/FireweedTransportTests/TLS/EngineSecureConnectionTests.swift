import COpenSSL
import Dispatch
import FixtureServer
import Foundation
import Glibc
import Synchronization
import Testing

@testable import FireweedTransport

@Suite("The engine's connections over TLS", OnBothThreads(), .timeLimit(.minutes(TestTimeouts.minutes)))
struct EngineSecureConnectionTests {
    @Test("the report names what was agreed on", arguments: [true, false])
    func report(isLimitedToTLS12: Bool) async throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
        let peer = try SecurePeer(TLSStage.chain, role: .answering(answer), isLimitedToTLS12: isLimitedToTLS12)
        try await TLSStage.play { stage in
            for index in 0..<3 {
                let transfer = try await stage.end(peer.url())
                let report = try #require(transfer.record.end?.report)
                #expect(transfer.code == nil && report.isReusedConnection == (index > 0))
                #expect(report.tls?.version == (isLimitedToTLS12 ? "TLSv1.2" : "TLSv1.3"))
                #expect(report.tls?.cipher.isEmpty == false && report.protocolName == "http/1.1")
                #expect((report.secureConnect > report.connect) == (index == 0))
            }
            try await peer.waits(for: 3, of: "request")
            #expect(peer.count("connected") == 1)
        }
    }

    @Test("a handshake or a response that is cut anywhere is a failure", arguments: [true, false])
    func cut(isLimitedToTLS12: Bool) async throws {
        let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"
        let peer = try SecurePeer(TLSStage.chain, role: .answering(answer), isLimitedToTLS12: isLimitedToTLS12)
        let cuts = Array(stride(from: 0, to: 1100, by: 23))
        let relay = try SecureRelay(to: peer.port, cuts: cuts)
        try await TLSStage.play { stage in
            for cut in cuts {
                let transfer = try await stage.end(relay.url(for: peer.url()))
                let codes: [URLError.Code?] = [.secureConnectionFailed, .networkConnectionLost]
                #expect(codes.contains(transfer.code), "\(cut) bytes: \(transfer.failureText)")
                #expect(transfer.record.content.isEmpty || transfer.record.content == Data("hello".utf8))
            }
            #expect(try await stage.end(relay.url(for: peer.url())).code == nil)
        }
    }

    @Test(
        "without close_notify, content that has no length of its own may be cut off",
        arguments: [(true, false, false), (true, true, true), (false, false, true), (false, true, true)])
    func truncation(row: (truncates: Bool, hasLength: Bool, isWhole: Bool)) async throws {
        let length = row.hasLength ? "Content-Length: 5\r\n" : ""
        let peer = try SecurePeer(
            TLSStage.chain, role: .answering("HTTP/1.1 200 OK\r\n\(length)Connection: close\r\n\r\nhello"),
            truncates: row.truncates)
        try await TLSStage.play { stage in
            let transfer = try await stage.end(peer.url())
            #expect(transfer.code == (row.isWhole ? nil : .networkConnectionLost))
            #expect(transfer.record.content == Data("hello".utf8))
            if !row.isWhole { #expect(transfer.failureText.contains("close_notify")) }
        }
    }

    @Test("the end of a connection is noticed behind a ticket that comes with it")
    func endBehindTicket() async throws {
        let (headCame, ended) = (DispatchGroup(), DispatchGroup())
        headCame.enter()
        ended.enter()
        let server = try TLSTestServer { ssl in
            defer { ended.leave() }
            guard TLSTestServer.readHead(ssl) else { return }
            TLSTestServer.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", to: ssl)
            headCame.wait()
            _ = TLSTestServer.sendTicket(ssl)
            shutdown(SSL_get_fd(ssl), Int32(SHUT_WR))
        }
        try await TLSStage.play { stage in
            // The loop is held until ticket and end have come: epoll then reports both at once, and neither again.
            let transfer = stage.transfer(server.url) {
                $0.idleTimeout = 10
            } afterHead: { _, _ in
                headCame.leave()
                ended.wait()
                return .undecided
            }
            transfer.start()
            try await transfer.end()
            #expect(transfer.code == .networkConnectionLost, "\(transfer.failureText)")
        }
    }

    @Test("a session is resumed, a ticket of TLS 1.3 once", arguments: [true, false])
    func resumption(isLimitedToTLS12: Bool) async throws {
        let peer = try SecurePeer(
            TLSStage.chain, role: .answering(TLSStage.ok), isLimitedToTLS12: isLimitedToTLS12)
        try await TLSStage.play { stage in
            for _ in 0..<4 { #expect(try await stage.end(peer.url()).code == nil) }
            try await peer.waits(for: 4, of: "connected")
            let kinds = peer.events.events.filter { $0.hasPrefix("connected ") }.map { $0.contains("resumed") }
            #expect(kinds == [false, true, true, true], "\(peer.events.events)")
        }
    }

    @Test(
        "HTTP/2 is refused over ciphers that it forbids (RFC 9113 §9.2.2)",
        arguments: [
            ("ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256", nil),
            ("ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA", "9.2.2"),
        ])
    func unfitCiphers(ciphers: String, complaint: String?) async throws {
        let server = try TLSTestServer(configure: { context in
            TLSTestServer.chooseHTTP2(context)
            SSL_CTX_set_cipher_list(context, ciphers)
        }) { ssl in
            // Closes without a frame.
            SSL_shutdown(ssl)
        }
        try await TLSStage.play({
            $0.maximumTLSVersion = .tls12
            $0.httpVersion = .http2
        }) { stage in
            let transfer = try await stage.end(server.url)
            #expect(transfer.code == (complaint == nil ? .networkConnectionLost : .secureConnectionFailed))
            if let complaint { #expect(transfer.failureText.contains(complaint), "\(transfer.failureText)") }
        }
    }

    @Test("a certificate's fault has its code", arguments: ["expired", "not yet valid", "self-signed", "wrong host"])
    func faults(fault: String) async throws {
        let serverChain = try #require(TestCertificates.shared[fault])
        let peer = try SecurePeer(serverChain.chain, role: .answering(TLSStage.ok))
        let codes: [String: URLError.Code] = [
            "expired": .serverCertificateUntrusted, "not yet valid": .serverCertificateUntrusted,
            "self-signed": .serverCertificateHasUnknownRoot, "wrong host": .serverCertificateUntrusted,
        ]
        try await TLSStage.play({ $0.addressOverrides = ["wrong.example": ["127.0.0.1"]] }) { stage in
            let url = try #require(URL(string: "https://\(serverChain.host):\(peer.port)/"))
            #expect(try await stage.end(url).code == codes[fault])
            try await peer.waits(for: 1, of: "refused")
            #expect(peer.count("connected") == 0)
        }
    }

    @Test(
        "the rule of trust sees the chain as it was sent, and decides the handshake", arguments: [true, false],
        [true, false])
    func rule(isLimitedToTLS12: Bool, accepts: Bool) async throws {
        struct Refused: Error {}
        let chain = try #require(TestCertificates.shared["valid, disordered"]).chain
        let peer = try SecurePeer(chain, role: .answering(TLSStage.ok), isLimitedToTLS12: isLimitedToTLS12)
        let seen = EventLog<[Certificate]>()
        try await TLSStage.play { stage in
            stage.transport.evaluateServers(
                with: ServerTrustRules { trust in
                    seen.note(trust.presentedCertificates)
                    // What a rule leaves in OpenSSL's queue of errors is no error of the connection.
                    _ = try? Certificate(pem: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
                    if !accepts { throw Refused() }
                })
            let transfer = try await stage.end(peer.url())
            #expect(try seen.events == [Certificate.all(inPEM: chain.map(\.pem).joined())])
            if accepts {
                #expect(transfer.code == nil, "\(transfer.failureText)")
            } else {
                guard case .untrusted(let error)? = transfer.record.end?.failure else {
                    Issue.record("\(transfer.failureText)")
                    return
                }
                #expect(error is Refused)
            }
        }
    }

    @Test("an identity is shown with its intermediates", arguments: [true, false])
    func identityWithIntermediates(isLimitedToTLS12: Bool) async throws {
        let certificates = try TestCertificates.shared
        let client = try certificates.generator.issue(
            "Client", ["extendedKeyUsage=clientAuth"], by: certificates.intermediate)
        let folder = try TemporaryFolder()
        let file = folder.file("chain.pem")
        try (client.pem + certificates.intermediate.pem).write(to: file, atomically: true, encoding: .utf8)
        let peer = try SecurePeer(
            TLSStage.chain, role: .answering(TLSStage.ok), isLimitedToTLS12: isLimitedToTLS12,
            clientAuthority: certificates.root.certificate)
        let identity = ClientIdentity(certificate: file, privateKey: client.key)
        try await TLSStage.play({ $0.clientIdentity = identity }) { stage in
            let transfer = try await stage.end(peer.url())
            #expect(transfer.code == nil, "\(transfer.failureText)")
            try await peer.waits(for: 1, of: "connected")
        }
    }

    @Test("the limit for bytes without content does not count the handshake")
    func handshakeLength() async throws {
        let chain = try TLSStage.chain
        let peer = try SecurePeer(
            chain + Array(repeating: chain[1], count: 40), role: .answering(TLSStage.ok))
        try await TLSStage.play({ $0.maximumFramingByteCount = 1024 }) { stage in
            let transfer = try await stage.end(peer.url())
            #expect(transfer.code == nil, "\(transfer.failureText)")
        }
    }

    @Test("a server without TLS fails the handshake")
    func noTLS() async throws {
        let server = try ScriptedServer.start([.send("HTTP/1.1 400 Bad Request\r\n\r\n"), .hold])
        try await TLSStage.play { stage in
            let url = try #require(URL(string: "https://localhost:\(server.url().port ?? 0)/"))
            let transfer = try await stage.end(url)
            #expect(transfer.code == .secureConnectionFailed)
            #expect(transfer.failureText.contains("TLS handshake with localhost"))
        }
    }

    private func identity() throws -> ClientIdentity {
        let testCertificates = try TestCertificates.shared
        let issued = try testCertificates.generator.issue(
            "Client", ["extendedKeyUsage=clientAuth"], by: testCertificates.root)
        return ClientIdentity(certificate: issued.certificate, privateKey: issued.key)
    }

    @Test("a session is not resumed for another identity", arguments: [true, false])
    func resumptionByIdentity(isLimitedToTLS12: Bool) async throws {
        let identity = try identity()
        let isKnown = Atomic(false)
        let peer = try SecurePeer(
            TLSStage.chain, role: .answering(TLSStage.ok), isLimitedToTLS12: isLimitedToTLS12)
        try await TLSStage.play { stage in
            let rules = ServerTrustRules(identity: { _ in isKnown.load(ordering: .acquiring) ? identity : nil }) { _ in
            }
            stage.transport.evaluateServers(with: rules)
            for isNow in [false, false, true, true] {
                isKnown.store(isNow, ordering: .releasing)
                #expect(try await stage.end(peer.url()).code == nil)
            }
            try await peer.waits(for: 4, of: "connected")
            let kinds = peer.events.events.filter { $0.hasPrefix("connected ") }.map { $0.contains("resumed") }
            #expect(kinds == [false, true, false, true], "\(peer.events.events)")
        }
    }

    @Test(
        "an identity that is given while the trust is decided is shown in the same handshake",
        arguments: [true, false],
        [true, false])
    func lateIdentity(isLimitedToTLS12: Bool, mayWait: Bool) async throws {
        let identity = try identity()
        let isKnown = Atomic(false)
        let peer = try SecurePeer(
            TLSStage.chain, role: .answering(TLSStage.ok), isLimitedToTLS12: isLimitedToTLS12,
            clientAuthority: TestCertificates.shared.root.certificate)
        try await TLSStage.play { stage in
            stage.transport.evaluateServers(
                with: ServerTrustRules(
                    mayWait: { _ in mayWait }, identity: { _ in isKnown.load(ordering: .acquiring) ? identity : nil }
                ) { _ in isKnown.store(true, ordering: .releasing) })
            let transfer = try await stage.end(peer.url())
            #expect(transfer.code == nil, "\(transfer.failureText)")
            try await peer.waits(for: 1, of: "connected")
            #expect(peer.count("refused") == 0)
        }
    }

    @Test("a missing client certificate is the failure, with every rule of trust", arguments: [true, false])
    func clientCertificate(mayWait: Bool) async throws {
        let testCertificates = try TestCertificates.shared
        let peer = try SecurePeer(
            TLSStage.chain, role: .answering(TLSStage.ok), clientAuthority: testCertificates.root.certificate)
        try await TLSStage.play { stage in
            stage.transport.evaluateServers(with: ServerTrustRules(mayWait: { _ in mayWait }) { _ in })
            for _ in 0..<20 {
                let transfer = try await stage.end(peer.url())
                #expect(transfer.code == .clientCertificateRequired, "\(transfer.failureText)")
            }
        }
    }
}
