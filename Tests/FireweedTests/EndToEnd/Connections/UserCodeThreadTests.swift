import Fireweed
import FireweedTransport
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

/// An event loop serves every session: code of users that waits on one stops them all.
@Suite("Threads of user code", .timeLimit(.minutes(TestTimeouts.minutes)))
struct UserCodeThreadTests {
    @Test("no closure and no method of a user is called on an event loop's thread")
    func everything() async throws {
        let witness = Witness()
        let server = try FixtureServer.start()
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        let session = Session(
            configuration: configuration, delegate: WitnessDelegate(witness), interceptor: witness,
            redirectHandler: witness, cachedResponseHandler: witness, eventMonitors: [witness])
        try await data(session, server, witness)
        try await files(session, server, witness)
        try await streams(session, server, witness)
        try await sockets(session, witness)
        #expect(witness.missing.isEmpty, "never called")
        // It is asked for where an event happens, and documented so.
        #expect(witness.onLoops.filter { $0 != "monitor's queue" } == [])
    }

    private func data(_ session: Session, _ server: FixtureServer, _ witness: Witness) async throws {
        for path in ["/get", "/redirect/1", "/status/503", "/cache/1000"] {
            let request = session.request(server.url(path)) { request in
                witness.note("request modifier")
                request.timeoutInterval = 60
            }
            request.validate { _, _, _ in
                witness.note("validation")
                return .success(())
            }
            request.validate()
            request.cURLDescription { _ in witness.note("cURL handler") }
            request.onURLRequestCreation { _ in witness.note("request handler") }
            request.onURLSessionTaskCreation { _ in witness.note("task handler") }
            request.downloadProgress { _ in witness.note("download progress") }
            request.responseString { _ in witness.note("response handler") }
            _ = await request.serializingResponse(using: witness).response
        }
        let authenticated = session.request(server.url("/basic-auth/u/p")).authenticate(username: "u", password: "p")
        _ = await authenticated.serializingData().response
    }

    private func files(_ session: Session, _ server: FixtureServer, _ witness: Witness) async throws {
        let folder = try TemporaryFolder()
        let target = folder.file("content")
        let download = session.download(
            server.url("/bytes/100000"),
            to: { _, _ in
                witness.note("destination")
                return (target, [.removePreviousFile])
            })
        download.validate { _, _, _ in
            witness.note("validation of a download")
            return .success(())
        }
        _ = await download.serializingDownload(using: witness).response
        let upload = session.upload(
            multipartFormData: { form in
                witness.note("form")
                form.append(Data(count: 100_000), withName: "a")
            }, to: server.url("/post"))
        upload.uploadProgress { _ in witness.note("upload progress") }
        _ = await upload.serializingData().response
        let stream = session.upload(WitnessStream(witness), to: server.url("/post"))
        _ = await stream.serializingData().response
    }

    private func streams(_ session: Session, _ server: FixtureServer, _ witness: Witness) async throws {
        let ends = EventLog<String>()
        let request = session.streamRequest(server.url("/bytes/100000"))
        request.validate { _, _ in
            witness.note("validation of a stream")
            return .success(())
        }
        request.onHTTPResponse { _, decide in
            witness.note("head handler")
            decide(.allow)
        }
        request.responseStream { stream in
            witness.note("stream handler")
            if case .complete = stream.event { ends.note("end") }
        }
        request.responseStream(using: witness) { stream in
            witness.note("handler of serialised parts")
            if case .complete = stream.event { ends.note("end of parts") }
        }
        _ = try await ends.first(where: { $0 == "end" })
        _ = try await ends.first(where: { $0 == "end of parts" })
    }

    private func sockets(_ session: Session, _ witness: Witness) async throws {
        let request = session.webSocketRequest(to: try WebSocketServer.shared.url("/echo"))
        let ends = EventLog<String>()
        request.streamMessageEvents { event in
            witness.note("socket handler")
            switch event.kind {
            case .connected: request.send(.string("a")) { _ in witness.note("sending handler") }
            case .receivedMessage: event.close(sending: .normalClosure)
            case .completed: ends.note("end")
            default: break
            }
        }
        _ = try await ends.first(where: { $0 == "end" })
    }
}

/// Notes on what threads it is called.
private final class Witness: RequestInterceptor, RedirectHandler, CachedResponseHandler, EventMonitor,
    DataResponseSerializerProtocol, DownloadResponseSerializerProtocol, DataStreamSerializer, Sendable
{
    /// The names of all calls: the test fails where one is missing.
    private static let expected: Set = [
        "adapter", "retrier", "redirect handler", "cache handler", "monitor", "monitor's queue", "serialiser",
        "serialiser of a file", "serialiser of a stream", "request modifier", "validation", "cURL handler",
        "request handler", "task handler", "download progress", "response handler", "destination",
        "validation of a download", "form", "upload progress", "stream's open", "stream's read",
        "validation of a stream", "head handler", "stream handler", "handler of serialised parts", "socket handler",
        "sending handler", "delegate's challenge", "delegate's response", "delegate's data", "delegate's end",
    ]

    private let seen = Mutex<[String: Bool]>([:])

    func note(_ name: String) {
        let isOnLoop = LoopThread.isCurrent
        seen.withLock { $0[name] = $0[name] == true || isOnLoop }
    }

    var missing: Set<String> { Self.expected.subtracting(seen.withLock { $0.keys }) }
    var onLoops: [String] { seen.withLock { $0.filter(\.value).keys.sorted() } }

    func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        note("adapter")
        completion(.success(urlRequest))
    }

    func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        note("retrier")
        completion(request.retryCount < 1 ? .retry : .doNotRetry)
    }

    func task(
        _ task: URLSessionTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void
    ) {
        note("redirect handler")
        completion(request)
    }

    func dataTask(
        _ task: URLSessionDataTask, willCacheResponse response: CachedURLResponse,
        completion: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        note("cache handler")
        completion(response)
    }

    var queue: DispatchQueue {
        note("monitor's queue")
        return .main
    }
    func requestDidResume(_ request: Request) { note("monitor") }
    func requestDidFinish(_ request: Request) { note("monitor") }
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) { note("monitor") }
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        note("monitor")
    }

    func serialize(request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?) -> Int {
        note("serialiser")
        return data?.count ?? 0
    }

    func serializeDownload(request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?) -> Int
    {
        note("serialiser of a file")
        return 0
    }

    func serialize(_ data: Data) -> Int {
        note("serialiser of a stream")
        return data.count
    }
}

private final class WitnessDelegate: SessionDelegate, @unchecked Sendable {
    // SAFETY: its one stored property is a `let` of `Sendable` type.
    private let witness: Witness

    init(_ witness: Witness) { self.witness = witness }

    override func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        witness.note("delegate's challenge")
        super.urlSession(session, task: task, didReceive: challenge, completionHandler: completionHandler)
    }
    override func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        witness.note("delegate's response")
        completionHandler(.allow)
    }
    override func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        witness.note("delegate's data")
    }
    override func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        witness.note("delegate's end")
    }
}

private final class WitnessStream: InputStream {
    private let witness: Witness
    private var rest = 100_000
    private var isOpen = false

    init(_ witness: Witness) {
        self.witness = witness
        super.init(data: Data())
    }

    override func open() {
        witness.note("stream's open")
        isOpen = true
    }
    override func close() {}
    override var streamStatus: Stream.Status { !isOpen ? .notOpen : rest > 0 ? .open : .atEnd }
    override var hasBytesAvailable: Bool { rest > 0 }
    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
        witness.note("stream's read")
        let count = min(rest, len)
        buffer.update(repeating: 0, count: count)
        rest -= count
        return count
    }
}
