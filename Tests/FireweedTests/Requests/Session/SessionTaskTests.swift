import Dispatch
import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Session tasks", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SessionTaskTests {
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"

    @Test("each kind of request has the kind of task that Alamofire's has")
    func kinds() async throws {
        let server = try ScriptedServer.start(
            scripts: (0..<4).map { _ in [.receiveHead, .send(Self.answer), .close] })
        let session = Session.isolated()
        let data = session.request(server.url())
        let stream = session.streamRequest(server.url())
        let upload = session.upload(Data("x".utf8), to: server.url())
        let download = session.download(server.url())
        _ = await data.serializingData().response
        _ = await upload.serializingData().response
        _ = await download.serializingData().response
        for await _ in stream.streamTask().streamingData() {}
        let tasks: [URLSessionTask?] = [data.task, stream.task, upload.task, download.task]
        #expect(tasks[0] is URLSessionDataTask && !(tasks[0] is URLSessionUploadTask))
        #expect(tasks[1] is URLSessionDataTask)
        #expect(tasks[2] is URLSessionUploadTask)
        #expect(tasks[3] is URLSessionDownloadTask)
        #expect(Set(tasks.compactMap { $0?.taskIdentifier }).count == 4)
    }

    @Test("every event of an attempt that runs has the same task, which nothing keeps after the end")
    func oneTask() async throws {
        let server = try ScriptedServer.start(scripts: [[.receiveHead, .send(Self.answer), .close]])
        let seen = EventLog<Bool>()
        let first = FirstTask()
        let monitor = ClosureEventMonitor()
        monitor.requestDidCreateTask = { _, task in seen.note(first.isSame(task)) }
        monitor.dataTaskDidReceiveData = { _, task, _ in seen.note(first.isSame(task)) }
        let session = Session.isolated(eventMonitors: [monitor])
        let request = session.request(server.url())
        #expect(await request.serializingString().response.error == nil)
        await eventually("two events") { seen.events.count == 2 }
        #expect(seen.events == [true, true])
        await eventually("the task is released") { first.isReleased }
    }

    @Test("a task says everything about its try, during it and afterwards")
    func members() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"), .wait(for: "looked"), .send("llo"),
            .close,
        ])
        let session = Session.isolated()
        let request = session.request(server.url())
        let part = EventLog<Int64>()
        request.downloadProgress(queue: DispatchQueue(label: "progress")) { part.note($0.completedUnitCount) }
        let response = request.serializingString()
        try await part.first(where: { $0 == 2 })
        let task = try #require(request.task)
        #expect(task.state == .running && task.error == nil)
        #expect(task.originalRequest?.url == server.url() && task.currentRequest?.httpMethod == "GET")
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(task.countOfBytesReceived == 2 && task.countOfBytesExpectedToReceive == 5)
        #expect(task.countOfBytesSent == 0 && task.countOfBytesExpectedToSend == NSURLSessionTransferSizeUnknown)
        let progress = task.progress
        #expect(progress.completedUnitCount == 2 && progress.totalUnitCount == 5 && progress.fractionCompleted == 0.4)
        #expect(!progress.isIndeterminate && !progress.isFinished)
        task.taskDescription = "the first"
        task.priority = URLSessionTask.highPriority
        task.countOfBytesClientExpectsToSend = 3
        task.countOfBytesClientExpectsToReceive = 4
        server.signal("looked")
        #expect(await response.response.value == "hello")
        #expect(task.state == .completed && task.countOfBytesReceived == 5 && progress.fractionCompleted == 1)
        #expect(progress.isFinished && task.progress === progress)
        let again = try #require(request.task)
        #expect(again == task && again.hashValue == task.hashValue && Set(request.tasks + [task]).count == 1)
        #expect(again.taskDescription == "the first" && again.priority == URLSessionTask.highPriority)
        #expect(again.countOfBytesClientExpectsToSend == 3 && again.countOfBytesClientExpectsToReceive == 4)
        #expect(again.metrics?.transactionMetrics.count == 1)
        #expect("\(again)".contains(server.url().absoluteString))
    }

    @Test("settings of a task outlive the object, since a task is made again when somebody looks")
    func settings() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Self.answer), .close])
        let session = Session.isolated()
        defer { withExtendedLifetime(session) {} }
        let request = session.request(server.url())
        _ = await request.serializingString().response
        request.task?.taskDescription = "kept"
        #expect(request.task?.taskDescription == "kept")
    }

    @Test("a task can be suspended, resumed and cancelled")
    func control() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"), .hold,
        ])
        let session = Session.isolated()
        defer { withExtendedLifetime(session) {} }
        let request = session.request(server.url())
        let part = EventLog<Int64>()
        request.downloadProgress(queue: DispatchQueue(label: "progress")) { part.note($0.completedUnitCount) }
        let response = request.serializingString()
        try await part.first(where: { $0 == 2 })
        let task = try #require(request.task)
        task.suspend()
        #expect(task.state == .suspended)
        task.resume()
        #expect(task.state == .running)
        task.cancel()
        let failure = await response.response.error
        #expect(failure?.urlErrorCode == .cancelled && failure?.isExplicitlyCancelledError == false)
        #expect(task.state == .completed && (task.error as? URLError)?.code == .cancelled)
    }

    @Test("a handler of tasks is given Foundation's type")
    func creation() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Self.answer), .close])
        let session = Session.isolated()
        defer { withExtendedLifetime(session) {} }
        let request = session.request(server.url())
        let seen = EventLog<Int>()
        request.onURLSessionTaskCreation(on: DispatchQueue(label: "tasks")) { (task: URLSessionTask) in
            seen.note(task.taskIdentifier)
        }
        _ = await request.serializingString().response
        let identifier = try await seen.first(where: { _ in true })
        #expect(identifier == request.task?.taskIdentifier)
    }

    @Test("the session has a URLSession of its configuration, or the one that it was made with")
    func urlSession() {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.timeoutIntervalForRequest = 7
        let session = Session(configuration: configuration)
        #expect(session.session === session.session && session.session.configuration.timeoutIntervalForRequest == 7)
        #expect(session.session.delegate === session.delegate)
        #expect(session.session.delegateQueue.underlyingQueue === session.rootQueue)
        let given = URLSession(configuration: configuration)
        let second = Session(
            session: given, delegate: SessionDelegate(), rootQueue: DispatchQueue(label: "root"),
            startRequestsImmediately: false)
        #expect(second.session === given && second.sessionConfiguration.timeoutIntervalForRequest == 7)
        #expect(!second.startRequestsImmediately && second.rootQueue.label == "root")
    }
}

/// A subclass without anything of its own: it has every initialiser.
private final class PlainSession: Session, @unchecked Sendable {}

/// A subclass as apps write it.
private final class BaseURLSession: Session, @unchecked Sendable {
    let asked = ProtectedList<String>()

    override func request(
        _ convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataRequest {
        asked.append("request")
        return super.request(
            convertible, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    override func download(
        _ convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil, to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        asked.append("download")
        return super.download(
            convertible, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume,
            to: destination)
    }

    override func upload(
        _ stream: InputStream, to convertible: any URLConvertible, method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil, fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        asked.append("upload")
        return super.upload(stream, to: convertible, method: .put)
    }
}

@Suite("Subclasses of Session", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SessionSubclassTests {
    @Test("have every initialiser, unless they write one")
    func initialisers() {
        let configuration = URLSessionConfiguration.af.ephemeral
        #expect(PlainSession().startRequestsImmediately)
        #expect(!PlainSession(configuration: configuration, startRequestsImmediately: false).startRequestsImmediately)
        let given = URLSession(configuration: configuration)
        let session = PlainSession(session: given, delegate: SessionDelegate(), rootQueue: DispatchQueue(label: "root"))
        #expect(session.session === given)
        _ = PlainSession(configuration: configuration, transportOptions: TransportOptions())
        _ = PlainSession(transport: ScriptedTransport { _ in [] })
    }

    @Test("override how requests are made; the short forms come by")
    func makers() async throws {
        let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
        let server = try ScriptedServer.start(
            scripts: (0..<3).map { number in
                // The third sends one byte in a chunk.
                [.receiveHead, .receive(byteCount: number == 2 ? 11 : 0), .send(answer), .close]
            })
        let session = BaseURLSession(configuration: .af.ephemeral)
        #expect(await session.request(server.url()).serializingString().response.value == "ok")
        #expect(await session.download(server.url(), method: .post).serializingString().response.value == "ok")
        let upload = session.upload(InputStream(data: Data("x".utf8)), to: server.url())
        #expect(await upload.serializingString().response.value == "ok")
        #expect(upload.request?.httpMethod == "PUT")
        #expect(session.asked.all == ["request", "download", "upload"])
    }
}

/// The task of a monitor's first event, which it does not keep.
private final class FirstTask: @unchecked Sendable {
    // SAFETY: the variables are guarded by the lock.
    private let lock = NSLock()
    private weak var task: URLSessionTask?
    private var isSet = false

    var isReleased: Bool { lock.withLock { task == nil } }

    func isSame(_ other: URLSessionTask) -> Bool {
        lock.withLock {
            if !isSet { (task, isSet) = (other, true) }
            return task === other
        }
    }
}
