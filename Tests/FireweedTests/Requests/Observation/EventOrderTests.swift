import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

/// The orders that `EventMonitor` documents, recorded against real servers.
@Suite("The order of events", .timeLimit(.minutes(TestTimeouts.minutes)))
struct EventOrderTests {
    let server: FixtureServer
    let monitor = RecordingMonitor()

    init() throws {
        server = try FixtureServer.start()
    }

    private static let begin = ["resume", "initial", "created", "task", "resume task"]
    private static let answered = ["response", "data"]
    private static let end = ["task metrics", "metrics", "task end"]
    private static let failure = ["task metrics", "metrics", "task failure"]
    private static let finish = ["complete", "finish", "parse"]

    private var session: Session { Session.isolated(eventMonitors: [monitor]) }

    @Test("a success")
    func success() async throws {
        let session = session
        _ = await session.request(server.url("/get")).validate().serializingData().response
        #expect(monitor.all == Self.begin + Self.answered + Self.end + ["validate", "validate"] + Self.finish)
    }

    @Test("a monitor is told of the groups of events that it names, each event is in one group, and in order")
    func groups() async throws {
        let all = (0..<17).map { RecordingMonitor(events: MonitoredEvents(rawValue: 1 << $0)) }
        let several = RecordingMonitor(events: [.completion, .metrics, .parsing])
        let none = RecordingMonitor(events: [])
        let folder = try TemporaryFolder()
        let adapter = Adapter { request, _, completion in completion(.success(request)) }
        var session: Session? = Session.isolated(interceptor: adapter, eventMonitors: all + [monitor, several, none])
        let own = RecordingMonitor(events: [.completion, .responses])
        _ = await session?.request(server.url("/redirect/1")).validate().eventMonitor(own).serializingData().response
        _ = await session?.request(server.url("/basic-auth/a/b")).serializingData().response
        _ = await session?.upload(InputStream(data: Data(count: 9)), to: server.url("/anything")).serializingData()
            .response
        _ = await session?.download(server.url("/get"), to: { _, _ in (folder.file("a"), []) }).serializingData()
            .response
        _ = await session?.request("http://[broken").serializingData().response
        session = nil
        while !monitor.all.contains("invalid") { await Task.yield() }
        #expect(all.count { $0.all == [] } <= 2, "groups without an event here: caching and waiting")
        #expect(all.flatMap(\.names.all).sorted() == monitor.names.all.sorted())
        let wanted = ["finish", "task metrics", "metrics", "parse"]
        #expect(several.all == monitor.all.filter(wanted.contains))
        #expect(none.all == [] && own.all == ["finish"])
    }

    @Test("a failure before the task")
    func failureBeforeTask() async throws {
        let session = session
        _ = await session.request("http://[broken").serializingData().response
        #expect(monitor.all == ["resume", "not created", "finish", "parse"])
    }

    @Test("an adapter that fails")
    func adapterFails() async throws {
        let adapter = Adapter { _, _, completion in completion(.failure(URLError(.cancelled))) }
        let session = Session.isolated(interceptor: adapter, eventMonitors: [monitor])
        _ = await session.request(server.url("/get")).serializingData().response
        #expect(monitor.all == ["resume", "initial", "not adapted", "finish", "parse"])
    }

    @Test("a connection that is refused")
    func refused() async throws {
        let session = session
        _ = await session.request("http://127.0.0.1:1/").validate().serializingData().response
        #expect(monitor.all == Self.begin + Self.failure + Self.finish)
    }

    @Test("an upload, with its content in one write or in many", arguments: [10, 1_000_000])
    func upload(byteCount: Int) async throws {
        let session = session
        _ = await session.upload(Data(count: byteCount), to: server.url("/anything")).serializingData().response
        #expect(
            monitor.all == ["resume", "initial", "uploadable"] + Self.begin.dropFirst(2) + ["sent"] + Self.answered
                + Self.end
                + Self.finish)
    }

    @Test("an upload of a stream, which is needed when the upload begins and again after a redirect")
    func streamedUpload() async throws {
        let session = session
        let target = server.url("/redirect-to?url=/anything&status_code=307")
        let response = await session.upload(InputStream(data: Data(count: 1_000)), to: target).serializingData()
            .response
        #expect(response.error?.urlErrorCode == .requestBodyStreamExhausted)
        let begin = ["resume", "initial", "uploadable"] + Self.begin.dropFirst(2) + ["stream needed", "stream"]
        let refused = ["sent", "redirect", "stream needed"] + Self.failure + Self.finish
        #expect(monitor.all == begin + refused)
    }

    @Test("a download")
    func download() async throws {
        let session = session
        let folder = try TemporaryFolder()
        let target = folder.file("downloaded")
        let destination: DownloadRequest.Destination = { _, _ in (target, []) }
        _ = await session.download(server.url("/bytes/1000"), to: destination).validate().serializingData().response
        #expect(
            monitor.all == Self.begin
                + ["written", "downloaded", "destination", "file"] + Self.end + ["validate", "validate"] + Self.finish)
    }

    @Test("a stream")
    func stream() async throws {
        let session = session
        let request = session.streamRequest(server.url("/bytes/10"))
        let accepting = request.validate { _, _ in .success(()) }
        for await _ in accepting.streamTask().streamingData() {}
        let known = Self.begin + Self.answered + Self.end + ["validate", "complete", "finish"]
        #expect(monitor.all.filter { $0 != "parse stream" } == known)
    }

    @Test("an adapted request that is retried once")
    func retry() async throws {
        let attempts = ProtectedList<Int>()
        server.route("/once") { _ in
            attempts.append(1)
            return FixtureResponse.text("", status: attempts.all.count == 1 ? 503 : 204)
        }
        let adapter = Adapter { request, _, completion in completion(.success(request)) }
        let policy = RetryPolicy(exponentialBackoffScale: 0.01)
        let session = Session.isolated(
            interceptor: Interceptor(adapters: [adapter], retriers: [policy]), eventMonitors: [monitor])
        _ = await session.request(server.url("/once")).validate(statusCode: 200..<300).serializingData().response
        let first = ["resume", "initial", "adapted", "created", "task", "resume task", "response"]
        let second = ["initial", "adapted", "created", "task", "resume task", "response"]
        #expect(
            monitor.all == first + Self.end + ["validate", "complete", "retry"] + second + Self.end + ["validate"]
                + Self.finish)
    }

    @Test("a cancelled request")
    func cancel() async throws {
        let session = session
        let request = session.request(server.url("/delay/600"))
        let task = request.serializingData()
        try await server.events.next(.requestReceived("/delay/600"))
        request.cancel()
        _ = await task.response
        #expect(monitor.all == Self.begin + ["cancel", "cancel task"] + Self.failure + Self.finish)
    }

    @Test("a request that is cancelled while a retry waits: nothing of the attempt before comes again")
    func cancelBeforeRetry() async throws {
        let session = Session.isolated(
            interceptor: Retrier { _, _, _, completion in completion(.retryWithDelay(3600)) }, eventMonitors: [monitor])
        let request = session.request(server.url("/status/503")).validate(statusCode: 200..<300)
        let task = request.serializingData()
        #expect(try await becomes { monitor.all.last == "retry" })
        request.cancel()
        _ = await task.response
        let first = ["resume", "initial", "adapted", "created", "task", "resume task", "response"]
        #expect(monitor.all == first + Self.end + ["validate", "complete", "retry", "cancel", "finish", "parse"])
    }

    @Test("the end of a task has the task's own error", arguments: ["status", "cancel", "refused"])
    func taskErrors(kind: String) async throws {
        let errors = ProtectedList<AFError?>()
        let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "errors"))
        monitor.requestDidCompleteTaskWithError = { _, _, error in errors.append(error) }
        let session = Session.isolated(eventMonitors: [monitor])
        switch kind {
        case "status": _ = await session.request(server.url("/status/404")).validate().serializingData().response
        case "refused": _ = await session.request("http://127.0.0.1:1/").serializingData().response
        default:
            let request = session.request(server.url("/delay/600"))
            let task = request.serializingData()
            try await server.events.next(.requestReceived("/delay/600"))
            request.cancel()
            #expect(await task.response.error?.isExplicitlyCancelledError == true)
        }
        monitor.queue.sync {}
        let codes: [String: URLError.Code] = ["cancel": .cancelled, "refused": .cannotConnectToHost]
        #expect(errors.all.count == 1)
        #expect(errors.all.first??.isSessionTaskError == (codes[kind] == nil ? nil : true))
        #expect(errors.all.first??.urlErrorCode == codes[kind])
    }

    @Test("a request that is suspended and resumed")
    func suspend() async throws {
        let slow = try ScriptedServer.start([
            .receiveHead, .wait(for: "go"), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .hold,
        ])
        let session = Session.isolated(startRequestsImmediately: false, eventMonitors: [monitor])
        let request = session.request(slow.url())
        let task = request.serializingData()
        request.resume()
        try await slow.events.first { if case .head = $0 { true } else { false } }
        request.suspend().resume()
        slow.signal("go")
        _ = await task.response
        let held = ["suspend", "suspend task", "resume", "resume task"]
        #expect(monitor.all == Self.begin + held + Self.answered + Self.end + Self.finish)
    }

    @Test("redirects")
    func redirect() async throws {
        let session = session
        _ = await session.request(server.url("/redirect/2")).serializingData().response
        #expect(monitor.all == Self.begin + ["redirect", "redirect"] + Self.answered + Self.end + Self.finish)
    }

    @Test("a redirect that is not followed")
    func refusedRedirect() async throws {
        let session = Session.isolated(redirectHandler: .doNotFollow, eventMonitors: [monitor])
        _ = await session.request(server.url("/redirect/1")).serializingData().response
        #expect(monitor.all == Self.begin + ["redirect", "response"] + Self.end + Self.finish)
    }

    @Test("a round of authentication, answered and not")
    func authentication() async throws {
        let session = session
        let url = server.url("/basic-auth/u/p")
        _ = await session.request(url).authenticate(username: "u", password: "p", persistence: .none)
            .serializingData().response
        #expect(monitor.all == Self.begin + ["challenge"] + Self.answered + Self.end + Self.finish)
        let other = RecordingMonitor()
        let refused = Session.isolated(eventMonitors: [other])
        _ = await refused.request(url).serializingData().response
        #expect(other.all == Self.begin + ["challenge", "response"] + Self.end + Self.finish)
    }

    @Test("a round of authentication with stored credentials, which adds a hop")
    func storedCredentials() async throws {
        let space = URLProtectionSpace(
            host: "127.0.0.1", port: Int(server.port), protocol: "http", realm: "fixture",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        let session = Session.isolated(eventMonitors: [monitor]) {
            let credential = URLCredential(user: "u", password: "p", persistence: .forSession)
            $0.urlCredentialStorage?.set(credential, for: space)
        }
        _ = await session.request(server.url("/basic-auth/u/p")).serializingData().response
        #expect(monitor.all == Self.begin + ["challenge"] + Self.answered + Self.end + Self.finish)
    }

    @Test("an invalidated session")
    func invalidation() async throws {
        let session = session
        let task = session.request(server.url("/delay/600")).serializingData()
        try await server.events.next(.requestReceived("/delay/600"))
        session.invalidate()
        _ = await task.response
        #expect(monitor.all == Self.begin + ["invalid", "cancel task"] + Self.failure + Self.finish)
    }

    @Test("each monitor hears on its own queue, a request's own beside the session's")
    func queues() async throws {
        let heard = ProtectedList<String>()
        let key = DispatchSpecificKey<String>()
        let monitors = ["one", "two", "own"].map { name in
            let queue = DispatchQueue(label: name)
            queue.setSpecific(key: key, value: name)
            let monitor = ClosureEventMonitor(queue: queue)
            monitor.requestDidFinish = { _ in heard.append("\(name) on \(DispatchQueue.getSpecific(key: key) ?? "-")") }
            return monitor
        }
        let session = Session.isolated(eventMonitors: Array(monitors.prefix(2)))
        _ = await session.request(server.url("/get")).eventMonitor(monitors[2]).serializingData().response
        for monitor in monitors { monitor.queue.sync {} }
        #expect(heard.all.sorted() == ["one on one", "own on own", "two on two"])
    }

    /// The name that Alamofire's documentation gives, for observers that spell it out.
    private static let finishedName = "org.alamofire.notification.name.request.didFinish"

    @Test(
        "sessions post notifications with the request in them, and to observers of the bare name where they always post",
        arguments: [false, true])
    func notifications(postsAlways: Bool) async throws {
        let monitor = AlamofireNotifications(postsAlways: postsAlways)
        let session = Session(configuration: .af.ephemeral, eventMonitors: [monitor])
        let request = session.request(server.url("/get"))
        let name = postsAlways ? Notification.Name(Self.finishedName) : Request.didFinishNotification
        #expect(name.rawValue == Self.finishedName)
        let posted = AsyncStream<Bool> { continuation in
            let observer = NotificationCenter.default.addObserver(
                forName: name, object: nil, queue: nil
            ) { notification in
                if notification.request == request { continuation.yield(true) }
            }
            nonisolated(unsafe) let token = observer
            continuation.onTermination = { _ in NotificationCenter.default.removeObserver(token) }
        }
        _ = await request.serializingData().response
        for await isOurs in posted {
            #expect(isOurs)
            break
        }
    }
}
