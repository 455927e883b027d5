import Dispatch
import Fireweed
import FireweedTesting
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

/// Never says where a redirect leads.
private struct SilentRedirector: RedirectHandler {
    func task(
        _ task: URLSessionTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void
    ) {}
}

@Suite("The deadline of a request", .timeLimit(.minutes(TestTimeouts.minutes)))
struct DeadlineTests {
    private let sessions = ProtectedList<Session>()
    private let asked = ProtectedList<Int>()
    private let url = "https://service.example/"
    private let brief = Duration.milliseconds(50)
    /// Time for an attempt to begin, on a busy machine too.
    private let ample = Duration.seconds(2)

    /// Takes a request and never answers.
    private func silentServer(_ steps: ScriptedServer.Action...) throws -> ScriptedServer {
        try ScriptedServer.start([.receiveHead] + steps + [.hold])
    }

    private func isPastDeadline(_ error: AFError?) -> Bool {
        guard case .sessionTaskFailed(let cause) = error else { return false }
        return (cause as? URLError)?.code == .timedOut && cause.localizedDescription.contains("deadline of")
    }

    private func isolated() -> Session {
        let session = Session.isolated()
        sessions.append(session)
        return session
    }

    private func retrier(_ result: RetryResult) -> Retrier {
        Retrier { [asked] _, _, _, completion in
            asked.append(1)
            completion(result)
        }
    }

    @Test("an attempt that lasts longer is ended, and no retrier is asked")
    func attempt() async throws {
        let server = try silentServer()
        let session = Session.isolated(interceptor: retrier(.retry))
        let request = session.request(server.url()).deadline(ample)
        let response = await request.serializingData().response
        #expect(isPastDeadline(response.error) && !request.isCancelled && request.isFinished)
        #expect(asked.all.isEmpty && request.tasks.count == 1 && request.task?.state == .completed)
        #expect((request.task?.error as? URLError)?.code == .timedOut)
    }

    @Test("a source of events that would connect again after it fails, and is no success")
    func reconnection() async throws {
        let session = Session.stubbed {
            Stub.any().reply(.text("retry: 3600000\ndata: one\n\n", contentType: "text/event-stream"))
        }
        var received: [String] = []
        let error = await #expect(throws: AFError.self) {
            let source = session.streamRequest(url).deadline(.seconds(600)).serverSentEvents()
            for try await event in source { received.append(event.data) }
        }
        #expect(isPastDeadline(error) && received == ["one"])
    }

    @Test("no retrier is asked for a handler that comes after the deadline")
    func lateHandler() async throws {
        let server = try silentServer()
        let session = Session.isolated(interceptor: retrier(.retry))
        let request = session.request(server.url()).deadline(ample)
        for _ in 0..<2 { #expect(await request.serializingDecodable(Int.self).response.error != nil) }
        #expect(asked.all.isEmpty && request.tasks.count == 1)
    }

    @Test("content that does not end, of a request, a download and a stream")
    func content() async throws {
        let head = ScriptedServer.Action.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf\n")
        let session = Session.isolated()
        let data = try silentServer(head)
        #expect(isPastDeadline(await session.request(data.url()).deadline(brief).serializingData().response.error))
        let file = try silentServer(head)
        #expect(isPastDeadline(await session.download(file.url()).deadline(brief).serializingData().response.error))
        let stream = try silentServer(head)
        var lines: [String] = []
        let error = await #expect(throws: AFError.self) {
            for try await line in session.streamRequest(stream.url()).deadline(brief).lines() { lines.append(line) }
        }
        // On a busy machine the deadline may pass before the content comes.
        #expect(isPastDeadline(error) && lines.allSatisfy { $0 == "half" })
    }

    @Test("a retry that would begin later does not take place, and the attempt's error stays")
    func lateRetry() async {
        let session = Session.scripted(keptBy: sessions, interceptor: retrier(.retryWithDelay(3600))) { _ in 503 }
        let request = session.request(url).deadline(.seconds(600))
        #expect(await request.finalError?.responseCode == 503)
        #expect(request.retryCount == 0 && asked.all.count == 2)
    }

    @Test("retries without an end are ended")
    func retries() async {
        let session = Session.scripted(keptBy: sessions, interceptor: retrier(.retryWithDelay(0.001))) { _ in 503 }
        let request = session.request(url).deadline(brief)
        let error = await request.finalError
        #expect(error?.responseCode == 503 || isPastDeadline(error))
        #expect(!request.isCancelled)
    }

    @Test("an adapter and a redirect handler that do not answer")
    func silence() async throws {
        let silent = Adapter { _, _, _ in }
        let adapting = Session.scripted(keptBy: sessions, interceptor: silent) { _ in 200 }.request(url).deadline(brief)
        #expect(isPastDeadline(await adapting.finalError) && adapting.tasks.isEmpty)
        let server = try FixtureServer.start()
        let redirected = isolated().request(server.url("/redirect/1")).redirect(using: SilentRedirector())
        #expect(isPastDeadline(await redirected.deadline(.milliseconds(500)).finalError))
    }

    @Test("a retrier that does not answer: the attempt's error stays")
    func silentRetrier() async {
        let session = Session.scripted(keptBy: sessions, interceptor: Retrier { _, _, _, _ in }) { _ in 503 }
        #expect(await session.request(url).deadline(ample).finalError?.responseCode == 503)
    }

    @Test("the time begins with the request, and zero lets nothing be sent")
    func zero() async throws {
        let server = try FixtureServer.start()
        let session = Session.isolated(startRequestsImmediately: false)
        let request = session.request(server.url("/get")).deadline(.zero)
        #expect(request.isInitialized)
        let error = await request.resume().serializingData().response.error
        #expect(isPastDeadline(error) || error == nil && server.requests.count == 1)  // it may be answered by then
        #expect(request.isFinished)
    }

    @Test("a source of events does not connect again after it")
    func events() async throws {
        let session = Session.stubbed(clock: TestClock.automatic) {
            Stub.any().reply(.text("retry: 10\ndata: a\n\n", contentType: "text/event-stream"))
        }
        let request = session.streamRequest(url).deadline(.milliseconds(300))
        do throws(AFError) {
            for try await event in request.serverSentEvents() { #expect(event.data == "a") }
        } catch {
            #expect(isPastDeadline(error))
        }
        #expect(request.isFinished)
    }

    @Test("a request that ends before it does not notice, nor does one that has ended; the last call counts")
    func inTime() async throws {
        let server = try FixtureServer.start()
        let request = isolated().request(server.url("/get")).deadline(.zero).deadline(.seconds(Int64.max))
        #expect(await request.finalError == nil)
        #expect(await request.deadline(.zero).serializingData().response.error == nil)
    }

    @Test("a request that was cancelled first is cancelled: with awaited forms too, whose task is cancelled")
    func cancelled() async throws {
        let server = try silentServer()
        let request = isolated().request(server.url()).deadline(.seconds(600))
        let task = Task { try await request.serializingData().value }
        _ = try await server.events.first { if case .head = $0 { true } else { false } }
        task.cancel()
        let error = await #expect(throws: AFError.self) { try await task.value }
        #expect(error?.isExplicitlyCancelledError == true && request.isCancelled)
    }

    @Test("nothing keeps a request that has ended before its deadline")
    func release() async throws {
        let session = Session.scripted(keptBy: sessions) { _ in 200 }
        weak var last: Request?
        for _ in 0..<10 {
            let request = session.request(url).deadline(.seconds(3600))
            _ = await request.finalError
            last = request
        }
        await eventually("the last request is gone") { last == nil }
    }
}
