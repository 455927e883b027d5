import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Eager setup", .timeLimit(.minutes(TestTimeouts.minutes)))
struct EagerSetupTests {
    enum Kind: CaseIterable {
        case data, encodable, converted, uploadData, uploadFile, uploadStream, uploadForm, uploadSequence
        case download, resumedDownload, stream, webSocket
    }

    private let server: FixtureServer
    private let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    /// A request of this kind, which is never resumed.
    private func request(_ kind: Kind, of session: Session) async throws -> Request {
        let url = server.url("/anything")
        switch kind {
        case .data: return session.request(url)
        case .encodable: return session.request(url, method: .post, parameters: ["a": "b"], encoder: .json)
        case .converted: return session.request(try URLRequest(url: url, method: .put))
        case .uploadData: return session.upload(Data("a".utf8), to: url)
        case .uploadFile:
            try Data("a".utf8).write(to: folder.file("file"))
            return session.upload(folder.file("file"), to: url)
        case .uploadStream: return session.upload(InputStream(data: Data("a".utf8)), to: url)
        case .uploadForm:
            return session.upload(multipartFormData: { $0.append(Data("a".utf8), withName: "b") }, to: url)
        case .uploadSequence:
            let content = AsyncStream<Data> { continuation in
                continuation.yield(Data("a".utf8))
                continuation.finish()
            }
            return session.upload(content, to: url)
        case .download: return session.download(url)
        case .resumedDownload:
            let interrupted = try ScriptedServer.start(Interrupted.firstHalf())
            let other = Session.isolated()
            let response = await other.download(interrupted.url()).serializingData().response
            return session.download(resumingWith: try #require(response.resumeData))
        case .stream: return session.streamRequest(url)
        case .webSocket: return session.webSocketRequest(to: url)
        }
    }

    @Test("a request that is never resumed shows URLRequest, task and command", arguments: Kind.allCases)
    func shows(kind: Kind) async throws {
        let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "monitor"))
        let created = ProtectedList<URLRequest>()
        monitor.requestDidCreateURLRequest = { created.append($1) }
        let session = Session(
            configuration: .af.ephemeral, startRequestsImmediately: false, requestSetup: .eager,
            eventMonitors: [monitor])
        let request = try await request(kind, of: session)
        let queue = DispatchQueue(label: "handlers")
        let command: String = await withCheckedContinuation { continuation in
            request.cURLDescription(on: queue) { continuation.resume(returning: $0) }
        }
        #expect(command.hasPrefix("$ ") && command.contains("curl -v"))
        let made: URLRequest = await withCheckedContinuation { continuation in
            request.onURLRequestCreation(on: queue) { continuation.resume(returning: $0) }
        }
        var first: URLRequest?
        for await shown in request.urlRequests() {
            first = shown
            break
        }
        #expect(first?.url == made.url && request.request?.url == made.url && request.requests.count == 1)
        monitor.queue.sync {}
        #expect(created.all.map(\.url) == [made.url])
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            request.onURLSessionTaskCreation(on: queue) { _ in continuation.resume() }
        }
        #expect(request.isInitialized && request.task?.state == .suspended && server.requests.isEmpty)
        request.cancel()
    }

    @Test("of a lazy session it shows nothing before it is resumed", arguments: Kind.allCases)
    func lazy(kind: Kind) async throws {
        let session = Session(configuration: .af.ephemeral, startRequestsImmediately: false, eventMonitors: [])
        let request = try await request(kind, of: session)
        #expect(request.requests.isEmpty && request.task == nil && request.isInitialized)
        request.cancel()
    }
}
