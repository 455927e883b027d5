import Fireweed
import FixtureServer
import Foundation
import Testing

// A frozen relay is like a router that has forgotten a connection: nothing comes, not even a reset.
@Suite("Dead connections", .timeLimit(.minutes(TestTimeouts.minutes)))
struct DeadConnectionTests {
    /// A server for HTTP/2 behind a relay.
    private struct Multiplexing {
        private let authority: CertificateAuthority
        private let nginx: NginxServer
        let relay: FreezingRelay
        let session: Session
        let url: URL

        init() throws {
            authority = try CertificateAuthority()
            nginx = try NginxServer(certificate: authority.issue())
            let direct = try #require(nginx.secureURL)
            relay = try FreezingRelay(to: UInt16(try #require(direct.port)))
            url = relay.url(for: direct).appendingPathComponent("small")
            var options = TransportOptions()
            options.certificateAuthorities = .file(authority.certificate)
            session = Session.isolated(transportOptions: options)
        }

        func ask(timeout: TimeInterval? = nil) async -> DataResponse<Data, AFError> {
            await session.request(url) { request in
                if let timeout { request.timeoutInterval = timeout }
            }
            .serializingData().response
        }
    }

    @Test("over HTTP/2, the time-out of one request takes a dead connection out of the pool")
    func multiplexed() async throws {
        let server = try Multiplexing()
        for round in 1...3 {
            let response = await server.ask()
            #expect(response.metrics?.transactionMetrics.last?.networkProtocolName == "h2")
            #expect(server.relay.connectionCount == round)
            server.relay.freeze()
            #expect(await server.ask(timeout: 0.3).error?.urlErrorCode == .timedOut)
        }
        #expect(await server.ask().error == nil)
    }

    @Test(
        "a stream that waits on a dead connection holds no later request there, and is not ended for another's time-out"
    )
    func waitingStream() async throws {
        let server = try Multiplexing()
        for _ in 0..<10 {  // more often than there are generations of connections
            #expect(await server.ask().error == nil)
            server.relay.freeze()
            let patient = server.session.request(server.url)
            let waiting = patient.serializingData()
            #expect(await server.ask(timeout: 0.2).error?.urlErrorCode == .timedOut)
            #expect(await server.ask().error == nil)
            #expect(patient.isFinished == false)
            patient.cancel()
            #expect(await waiting.response.error?.isExplicitlyCancelledError == true)
        }
    }

    @Test("over HTTP/1.1, one time-out closes all dead idle connections, and none that is busy")
    func idle() async throws {
        let server = try FixtureServer.start()
        let relay = try FreezingRelay(to: server.port)
        let session = Session.isolated()
        let all = relay.url(for: server.url("/delay/2"))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<5 {
                group.addTask { #expect(await session.request(all).serializingData().response.error == nil) }
            }
        }
        let connectionCount = relay.connectionCount
        #expect(connectionCount > 1)
        relay.freeze()
        let busy = session.request(relay.url(for: server.url("/get"))).serializingData()
        let impatient = session.request(relay.url(for: server.url("/get"))) { $0.timeoutInterval = 0.3 }
        #expect(await impatient.serializingData().response.error?.urlErrorCode == .timedOut)
        let url = relay.url(for: server.url("/get"))
        #expect(await session.request(url).serializingData().response.error == nil)
        #expect(relay.connectionCount == connectionCount + 1)
        // All are closed but the one that is busy, and the new one.
        try await relay.closings.nth(connectionCount - 1) { _ in true }
        #expect(await session.request(url).serializingData().response.error == nil)
        #expect(relay.closings.events.count == connectionCount - 1)
        busy.cancel()
    }

    @Test(
        "a server of HTTP/2 that allows no more streams on a connection gets a new one",
        arguments: ["close the gate, answer", "gate closed, answer"])
    func noStreams(act: String) async throws {
        let testCertificates = try TestCertificates.shared
        let peer = try SecurePeer([testCertificates.server, testCertificates.intermediate], role: .http2(act))
        // Without a time-out: nothing else would end a request that waits for a stream.
        let session = testCertificates.session()
        for round in 1...3 {
            let request = session.upload(Data(repeating: 7, count: round == 2 ? 30_000 : 10), to: peer.url()) {
                $0.timeoutInterval = 0
            }
            let response = await request.serializingString().response
            #expect(response.value == "hello", "\(response) \(peer.events.events)")
            try await peer.waits(for: round, of: "request")
            #expect(peer.count("connected") == round)
        }
    }
}
