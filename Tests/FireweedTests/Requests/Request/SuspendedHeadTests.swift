import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Requests that are suspended before their response", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SuspendedHeadTests {
    /// Suspends requests as soon as their tasks run.
    private final class Suspender: EventMonitor {
        let queue = DispatchQueue(label: "suspender")
        let suspended = EventLog<String>()

        func request(_ request: Request, didResumeTask task: URLSessionTask) {
            guard request.request?.url?.path == "/held", suspended.events.count < 24 else { return }
            request.suspend()
            suspended.note("suspended")
        }
    }

    @Test("time out once they are resumed, where they stood still when they began")
    func timeOut() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n"), .receiveHead,
            .hold,
        ])
        let requests = ProtectedList<DataRequest>()
        let redirected = EventLog<String>()
        // The next exchange begins while the request is suspended.
        let redirector = Redirector(
            behavior: .modify { _, request, _ in
                requests.all.first?.suspend()
                redirected.note("redirected")
                return request
            })
        let session = Session.isolated(startRequestsImmediately: false, redirectHandler: redirector)
        let request = session.request(server.url()) { $0.timeoutInterval = 2 }
        requests.append(request)
        let task = request.serializingData()
        request.resume()
        try await redirected.next("redirected")
        for _ in 0..<2 { request.underlyingQueue.sync {} }
        // Time-outs were not looked at any more once another request had had its own.
        let silent = try ScriptedServer.start([.receiveHead, .hold])
        let other = session.request(silent.url()) { $0.timeoutInterval = 0.2 }.resume()
        #expect(await other.serializingData().response.error?.urlErrorCode == .timedOut)
        request.resume()
        #expect(await task.response.error?.urlErrorCode == .timedOut)
    }

    @Test("have it once they are resumed: 24 streams beside each other over HTTP/2")
    func streams() async throws {
        let authority = try CertificateAuthority()
        let nginx = try NginxServer(certificate: authority.issue())
        let url = try #require(nginx.secureURL)
        try Data("hello".utf8).write(to: nginx.documents.appendingPathComponent("held"))
        var options = TransportOptions()
        options.certificateAuthorities = .file(authority.certificate)
        for _ in 0..<4 {
            let suspender = Suspender()
            let session = Session.isolated(eventMonitors: [suspender], transportOptions: options)
            let small = url.appendingPathComponent("small")
            _ = try await session.request(small).validate().serializingData().value
            let requests = (0..<24).map { _ in session.request(url.appendingPathComponent("held")) }
            let tasks = requests.map { $0.serializingString() }
            try await suspender.suspended.nth(24) { $0 == "suspended" }
            // Their connection is read for another.
            for _ in 0..<4 { _ = try await session.request(small).validate().serializingData().value }
            for request in requests { request.resume() }
            for task in tasks {
                let response = await task.response
                #expect(response.value == "hello" && response.response?.statusCode == 200, "\(response)")
            }
        }
    }

    @Test(
        "have it once they are resumed, with interim responses and trailers around it",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "5\r\nhello\r\n0\r\nA: b\r\n\r\n",
        ])
    func around(answer: String) async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .wait(for: "suspended"), .send(answer), .close],
            [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), .hold])
        let session = Session.isolated()
        let request = session.request(server.url())
        let task = request.serializingString()
        try await server.events.first { if case .head = $0 { true } else { false } }
        request.suspend()
        server.signal("suspended")
        _ = await session.request(server.url("/other")).serializingData().response
        #expect(!request.isFinished)
        request.resume()
        let response = await task.response
        #expect(response.value == "hello" && response.response?.statusCode == 200, "\(response)")
    }

    @Test("have it without content as well")
    func withoutContent() async throws {
        let empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        let server = try ScriptedServer.start(
            [.receiveHead, .wait(for: "suspended"), .send(empty), .close], [.receiveHead, .send(empty), .hold])
        let session = Session.isolated()
        let request = session.request(server.url())
        let task = request.serializingData(emptyResponseCodes: [200])
        try await server.events.first { if case .head = $0 { true } else { false } }
        request.suspend()
        server.signal("suspended")
        _ = await session.request(server.url("/other")).serializingData().response
        request.resume()
        #expect(await task.response.response?.statusCode == 200)
    }
}
