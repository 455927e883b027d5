import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

/// Records events, and calls back before one of them is on its queue.
private final class InterruptingMonitor: EventMonitor {
    private let events = DispatchQueue(label: "events")
    private let names = ProtectedList<String>()
    private let eventCount = Atomic(0)
    /// The event, counted from 1, before which `interruption` is called.
    private let number: Int
    private let interruption = Mutex<(@Sendable () -> Void)?>(nil)

    init(before number: Int) {
        self.number = number
    }

    func interrupt(with interruption: @escaping @Sendable () -> Void) {
        self.interruption.withLock { $0 = interruption }
    }

    /// Asked for once for each event, on the thread that tells it.
    var queue: DispatchQueue {
        if eventCount.add(1, ordering: .relaxed).newValue == number { interruption.withLock { $0.take() }?() }
        return events
    }

    var all: [String] {
        events.sync {}
        return names.all
    }

    func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {
        names.append("uploadable")
    }
    func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: AFError) {
        names.append("no uploadable")
    }
    func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) { names.append("initial") }
    func request(_ request: Request, didAdaptInitialRequest initial: URLRequest, to adapted: URLRequest) {
        names.append("adapted")
    }
    func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) { names.append("created") }
    func request(_ request: Request, didCreateTask task: URLSessionTask) { names.append("task") }
    func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?) { names.append("end") }
    func request(_ request: Request, didCancelTask task: URLSessionTask) { names.append("cancel task") }
    func request(_ request: Request, didSuspendTask task: URLSessionTask) { names.append("suspend task") }
    func requestDidFinish(_ request: Request) { names.append("finish") }
}

@Suite(
    "Monitor events of a request that ends while it is made", .timeLimit(.minutes(TestTimeouts.minutes)))
struct AnnouncementTests {
    let server: FixtureServer

    init() throws {
        server = try FixtureServer.start()
    }

    /// Makes a request, cancels it before an event (`requestDidResume` is the first one) and lets its conclusion run;
    /// gives the events.
    private func events(cancelledBefore number: Int, adapter: Adapter? = nil) async -> [String] {
        let monitor = InterruptingMonitor(before: number)
        let session = Session.isolated(
            interceptor: adapter, startRequestsImmediately: false, eventMonitors: [monitor])
        let request = session.request(server.url("/get"))
        monitor.interrupt {
            request.cancel()
            session.serializationQueue.sync {}  // what the cancel has begun has run
        }
        await withCheckedContinuation { continuation in
            request.response(queue: .global()) { response in
                #expect(response.error?.isExplicitlyCancelledError == true)
                continuation.resume()
            }
            request.resume()
        }
        return monitor.all
    }

    @Test(
        "nothing that was made is told after the end",
        arguments: [(2, ["initial", "created", "finish"]), (3, ["initial", "created", "finish"])])
    func beforeTask(number: Int, expected: [String]) async {
        let events = await events(cancelledBefore: number)
        #expect(events == expected)
    }

    @Test("the task is told before its end")
    func task() async {
        let events = await events(cancelledBefore: 4)
        #expect(events == ["initial", "created", "task", "cancel task", "end", "finish"])
    }

    @Test("a request that is suspended as its task is told suspends the task")
    func suspendedTask() async {
        let monitor = InterruptingMonitor(before: 4)
        let session = Session.isolated(startRequestsImmediately: false, eventMonitors: [monitor])
        let request = session.request(server.url("/get"))
        monitor.interrupt { request.suspend() }
        request.resume()
        #expect(monitor.all == ["initial", "created", "task", "suspend task"])
        request.cancel()
    }

    @Test("an adapter that answers after the end changes nothing")
    func lateAdapter() async {
        let late = ProtectedList<@Sendable () -> Void>()
        let cancelling = Adapter { request, _, completion in late.append { completion(.success(request)) } }
        let monitor = InterruptingMonitor(before: 0)
        let session = Session.isolated(
            interceptor: cancelling, startRequestsImmediately: false, eventMonitors: [monitor])
        let request = session.request(server.url("/get"))
        await withCheckedContinuation { continuation in
            request.response(queue: .global()) { _ in continuation.resume() }
            request.resume()
            request.cancel()
        }
        for answer in late.all { answer() }
        #expect(monitor.all == ["initial", "finish"] && request.requests.count == 1 && request.tasks.isEmpty)
    }

    /// Makes an upload, cancels it before an event (`requestDidResume` is the first one), and gives the events.
    private func events(
        cancelledBefore number: Int, of upload: (Session) -> UploadRequest
    ) async -> [String] {
        let monitor = InterruptingMonitor(before: number)
        let session = Session.isolated(startRequestsImmediately: false, eventMonitors: [monitor])
        let request = upload(session)
        monitor.interrupt {
            request.cancel()
            session.serializationQueue.sync {}
        }
        await withCheckedContinuation { continuation in
            request.response(queue: .global()) { _ in continuation.resume() }
            request.resume()
        }
        return monitor.all
    }

    @Test("the content of an upload is told before its end")
    func uploadable() async {
        let events = await events(cancelledBefore: 3) { $0.upload(Data("x".utf8), to: server.url("/anything")) }
        #expect(events == ["initial", "uploadable", "created", "finish"])
        let failed = await self.events(cancelledBefore: 3) { session in
            let missing = URL(fileURLWithPath: "/missing/file")
            return session.upload(multipartFormData: { $0.append(missing, withName: "f") }, to: server.url("/anything"))
        }
        #expect(failed == ["initial", "no uploadable", "finish"])
    }

    @Test("the content of an upload that ends while its request is made is not told")
    func uploadCancelledWhileMade() async {
        let convertible = InterruptedConvertible(url: server.url("/anything"))
        let events = await events(cancelledBefore: 0) { session in
            let request = session.upload(Data("x".utf8), with: convertible)
            convertible.interruption.withLock {
                $0 = {
                    request.cancel()
                    session.serializationQueue.sync {}
                }
            }
            return request
        }
        #expect(events == ["finish"])
    }
}

/// Calls back before it gives a request.
private final class InterruptedConvertible: URLRequestConvertible {
    let url: URL
    let interruption = Mutex<(@Sendable () -> Void)?>(nil)

    init(url: URL) { self.url = url }

    func asURLRequest() throws -> URLRequest {
        interruption.withLock { $0.take() }?()
        return try URLRequest(url: url, method: .post)
    }
}
