import Fireweed
import FixtureServer
import Foundation
import Testing

/// Writes down the names of events in their order.
final class RecordingMonitor: EventMonitor {
    let queue = DispatchQueue(label: "recording")
    let names = ProtectedList<String>()

    func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) { names.append("initial") }
    func request(_ request: Request, didAdaptInitialRequest initial: URLRequest, to adapted: URLRequest) {
        names.append("adapted")
    }
    func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) { names.append("created") }
    func request(_ request: Request, didFailToCreateURLRequestWithError error: AFError) { names.append("not created") }
    func request(_ request: Request, didCreateTask task: SessionTask) { names.append("task") }
    func requestDidResume(_ request: Request) { names.append("resume") }
    func request(_ request: Request, didResumeTask task: SessionTask) { names.append("resume task") }
    func request(_ request: Request, didGatherMetrics metrics: TaskMetrics) { names.append("metrics") }
    func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        withResult result: Request.ValidationResult
    ) { names.append("validate") }
    func request(_ request: Request, didCompleteTask task: SessionTask, with error: AFError?) {
        names.append("complete")
    }
    func requestIsRetrying(_ request: Request) { names.append("retry") }
    func requestDidCancel(_ request: Request) { names.append("cancel") }
    func request(_ request: Request, didCancelTask task: SessionTask) { names.append("cancel task") }
    func requestDidFinish(_ request: Request) { names.append("finish") }
    func request<Value: Sendable>(_ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>) {
        names.append("parse")
    }

    /// Everything that was told before this call.
    var all: [String] {
        queue.sync {}
        return names.all
    }
}

@Suite("The order of events", .timeLimit(.minutes(1)))
struct EventOrderTests {
    let server: FixtureServer
    let monitor = RecordingMonitor()

    init() throws {
        server = try FixtureServer.start()
    }

    private static let begin = ["initial", "created", "task", "resume", "resume task"]

    @Test("a success")
    func success() async throws {
        let session = Session.isolated(eventMonitors: [monitor])
        _ = await session.request(server.url("/get")).validate().serializingData().response
        #expect(monitor.all == Self.begin + ["metrics", "validate", "validate", "complete", "finish", "parse"])
    }

    @Test("a failure before the task")
    func failureBeforeTask() async throws {
        let session = Session.isolated(eventMonitors: [monitor])
        _ = await session.request("http://[broken").serializingData().response
        #expect(monitor.all == ["not created", "finish", "parse"])
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
        #expect(
            monitor.all == [
                "initial", "adapted", "created", "task", "resume", "resume task", "metrics", "validate", "complete",
                "retry",
            ]
                + [
                    "initial", "adapted", "created", "task", "resume task", "metrics", "validate", "complete", "finish",
                    "parse",
                ])
    }

    @Test("a cancelled request")
    func cancel() async throws {
        let session = Session.isolated(eventMonitors: [monitor])
        let request = session.request(server.url("/delay/30"))
        let task = request.serializingData()
        try await server.events.next(.requestReceived("/delay/30"))
        request.cancel()
        _ = await task.response
        #expect(
            monitor.all.filter { $0 != "cancel task" } == Self.begin + [
                "cancel", "metrics", "complete", "finish", "parse",
            ])
        #expect(monitor.all.contains("cancel task"))
    }

    @Test("the default session posts notifications with the request in them")
    func notifications() async throws {
        let session = Session(configuration: .af.ephemeral)
        let request = session.request(server.url("/get"))
        let posted = AsyncStream<Bool> { continuation in
            let observer = NotificationCenter.default.addObserver(
                forName: Request.didFinishNotification, object: nil, queue: nil
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
