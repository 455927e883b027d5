import Fireweed
import FireweedTesting
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

/// Accepts every server, and notes about which connection it was asked.
private final class NotingDelegate: SessionDelegate, @unchecked Sendable {
    // SAFETY: its stored property is a `let`.
    struct Question: Equatable, Sendable {
        let port: Int
        let task: URLSessionTask
        let fingerprint: String?
    }

    let questions = EventLog<Question>()

    override var cachePartition: String? { "accepts every server" }

    override func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust,
            let trust = challenge.protectionSpace.serverTrust
        else { return completionHandler(.performDefaultHandling, nil) }
        questions.note(
            Question(
                port: challenge.protectionSpace.port, task: task,
                fingerprint: trust.presentedCertificates.first?.sha256Fingerprint))
        completionHandler(.useCredential, URLCredential(trust: trust))
    }
}

@Suite("Which connection a session's delegate judges", .timeLimit(.minutes(TestTimeouts.minutes)))
struct DelegateTrustTests {
    private let delegate = NotingDelegate()

    private func session(_ store: (any ResponseStore)? = nil) -> Session {
        Session(configuration: .af.ephemeral, delegate: delegate, options: SessionOptions(responseStore: store))
    }

    @Test("the background refresh of a stored response asks it, with a task of its own and the server's port")
    func backgroundRefresh() async throws {
        let count = Atomic(0)
        let server = try MockServer.start(tls: MockServer.TLSOptions()) {
            Stub.any().reply { _ in
                .text("\(count.add(1, ordering: .relaxed).newValue)")
                    .header("Cache-Control", "max-age=0, stale-while-revalidate=600")
            }
        }
        let store = MemoryResponseStore()
        let session = session(store)
        let first = session.request(server.url())
        #expect(try await first.serializingString().value == "1")
        await session.flushResponseStore()
        // A session without a connection, and without a TLS session to resume.
        let second = self.session(store)
        let stale = second.request(server.url())
        #expect(try await stale.serializingString().value == "1")
        let refresh = try await delegate.questions.nth(2) { _ in true }
        #expect(refresh.port == Int(server.port) && refresh.task.originalRequest?.url == server.url())
        #expect(refresh.task != first.task && refresh.task != stale.task)
        _ = try await server.takeRequest()
        _ = try await server.takeRequest()
        #expect(delegate.questions.events.first?.task == first.task)
        withExtendedLifetime((session, second)) {}
    }

    @Test("requests to other ports of the host do not stand in for the one whose connection is judged")
    func otherPorts() async throws {
        let servers = try (0..<2).map { _ in
            try MockServer.start(tls: MockServer.TLSOptions()) { Stub.any().reply(.text("fine")) }
        }
        // Their handshakes do not end: their requests wait for the same host.
        let silent = try (0..<4).map { _ in try ScriptedServer.start([.hold]) }
        let session = session()
        let waiting = silent.map { session.request("https://127.0.0.1:\($0.port)/") }
        for request in waiting { request.resume() }
        for server in servers {
            let request = session.request("https://127.0.0.1:\(server.port)/")
            #expect(try await request.serializingString().value == "fine")
            let question = try #require(delegate.questions.events.last)
            #expect(question.port == Int(server.port) && question.task == request.task)
        }
        #expect(Set(delegate.questions.events.map { $0.fingerprint }).count == 2)
        for request in waiting { request.cancel() }
    }
}
