import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

/// Which monitor is told of what, and what is told in rare cases.
@Suite("The scope of monitors", .timeLimit(.minutes(TestTimeouts.minutes)))
struct MonitorScopeTests {
    private let server: FixtureServer
    private static let taskEvents: Set = [
        "task metrics", "task end", "task failure", "response", "data", "sent", "written", "downloaded", "redirect",
        "challenge", "stream needed",
    ]

    init() throws {
        server = try FixtureServer.start()
    }

    @Test("every monitor of a request hears request events, and only the session's hear of its tasks")
    func ownMonitors() async throws {
        let monitors = [RecordingMonitor(), RecordingMonitor(), RecordingMonitor()]
        let session = Session.isolated(eventMonitors: [monitors[0]])
        _ = await session.request(server.url("/redirect/1")).eventMonitor(monitors[1]).eventMonitor(monitors[2])
            .serializingData().response
        let all = monitors[0].all
        #expect(Self.taskEvents.intersection(all) == ["redirect", "response", "data", "task metrics", "task end"])
        for own in monitors.dropFirst() { #expect(own.all == all.filter { !Self.taskEvents.contains($0) }) }
    }

    @Test("the built-in validations of a stream are told")
    func streamValidations() async throws {
        let monitor = RecordingMonitor()
        let session = Session.isolated(eventMonitors: [monitor])
        let url = server.url("/bytes/10")
        for await _ in session.streamRequest(url).validate().streamTask().streamingData() {}
        #expect(monitor.all.filter { $0 == "validate" }.count == 2)
        let other = RecordingMonitor()
        let second = Session.isolated(eventMonitors: [other])
        let request = second.streamRequest(url).validate(statusCode: [200]).validate(contentType: ["*/*"])
        for await _ in request.streamTask().streamingData() {}
        #expect(other.all.filter { $0 == "validate" }.count == 2)
    }

    @Test("the place of a download without a destination is told")
    func destination() async throws {
        let monitor = RecordingMonitor()
        let session = Session.isolated(eventMonitors: [monitor])
        _ = await session.download(server.url("/bytes/10")).serializingData().response
        #expect(monitor.all.contains("destination"))
    }

    @Test("a task that was cancelled before it was sent has metrics")
    func metricsOfUnsent() async throws {
        let monitor = RecordingMonitor()
        let session = Session.isolated(startRequestsImmediately: false, eventMonitors: [monitor])
        let request = session.request(server.url("/get")).suspend()
        let suspended = session.request(server.url("/get"))
        suspended.onURLSessionTaskCreation(on: .global()) { _ in suspended.cancel() }
        let response = await suspended.resume().suspend().serializingData().response
        #expect(response.error?.isExplicitlyCancelledError == true)
        if request.task != nil || suspended.task != nil { #expect(suspended.metrics != nil) }
        request.cancel()
    }

    @Test("the handler of the cURL command is called when the request cannot be made, and when an adapter fails")
    func curlOfFailures() async throws {
        let session = Session.isolated(
            interceptor: Adapter { _, _, completion in completion(.failure(URLError(.cancelled))) })
        let made = await withCheckedContinuation { continuation in
            session.request(server.url("/get")).cURLDescription { continuation.resume(returning: $0) }
                .response { _ in }
        }
        #expect(made.contains("/get"))
        let unmade = await withCheckedContinuation { continuation in
            session.request("http://[broken").cURLDescription { continuation.resume(returning: $0) }
                .response { _ in }
        }
        #expect(unmade.hasPrefix("$ curl command could not be created"))
    }

    @Test("monitors are told once that a session has gone, whether it was invalidated before or not")
    func deinitialised() async throws {
        let (monitor, other) = (RecordingMonitor(), RecordingMonitor())
        var session: Session? = Session.isolated(eventMonitors: [monitor])
        _ = await session?.request(server.url("/get")).serializingData().response
        session = nil
        #expect(try await becomes { monitor.all.last == "invalid" })
        session = Session.isolated(eventMonitors: [other])
        session?.invalidate()
        session = nil
        #expect(other.all == ["invalid"])
    }

    @Test("a request's monitor is that of the session and its own together")
    func composed() async throws {
        let (shared, own) = (RecordingMonitor(), RecordingMonitor())
        let session = Session.isolated(eventMonitors: [shared])
        let request = session.request(server.url("/get"))
        #expect((request.eventMonitor as? CompositeEventMonitor)?.monitors.count == 1)
        request.eventMonitor(own)
        request.eventMonitor?.requestDidFinish(request)
        #expect(try await becomes { shared.all == ["finish"] && own.all == ["finish"] })
    }

    @Test("the handlers of progress can be read")
    func progressHandlers() throws {
        let session = Session.isolated(startRequestsImmediately: false)
        let request = session.request(server.url("/get"))
        #expect(request.uploadProgressHandler == nil && request.downloadProgressHandler == nil)
        let queue = DispatchQueue(label: "progress")
        request.uploadProgress(queue: queue) { _ in }.downloadProgress { _ in }
        #expect(
            request.uploadProgressHandler?.queue === queue
                && request.downloadProgressHandler?.queue.label == DispatchQueue.main.label)
        let download = session.download(server.url("/get"))
        _ = download.task(forResumeData: Data(), using: URLSession.shared)
    }

    @Test("a stream whose value fails ends as cancelled where that was asked for")
    func cancelOnStreamError() async throws {
        let session = Session.isolated()
        let request = session.streamRequest(server.url("/bytes/100?seed=3"), automaticallyCancelOnStreamError: true)
        let queue = DispatchQueue(label: "stream")
        let failures = ProtectedList<AFError>()
        let completion = await withCheckedContinuation { continuation in
            request.responseStreamDecodable(of: [String].self, on: queue) { stream in
                if let error = stream.error { failures.append(error) }
                if let completion = stream.completion { continuation.resume(returning: completion) }
            }
        }
        #expect(failures.all.first?.isResponseSerializationError == true)
        #expect(completion.error?.isExplicitlyCancelledError == true && request.isCancelled)
    }
}
