import Dispatch
import FireweedTransport
import FixtureServer
import Foundation
import Synchronization
import Testing

@testable import Fireweed

private struct Broken: Error {}

@Suite("Content of async sequences", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SequenceUploadTests {
    private let server: FixtureServer
    private let session = Session.isolated()

    init() throws {
        server = try FixtureServer.start()
    }

    private struct Uploaded: Decodable, Sendable {
        let byteCount: Int
    }

    @Test("elements of any size arrive whole and in order, in chunks", arguments: [0, 1, 1000, 300_000])
    func whole(size: Int) async throws {
        let elements = (0..<10).map { number in Data(repeating: UInt8(number), count: size) }
        let content = AsyncStream<Data> { continuation in
            for element in elements { continuation.yield(element) }
            continuation.finish()
        }
        let response = await session.upload(content, to: server.url("/anything")).serializingData().response
        #expect(response.error == nil)
        #expect(server.requests.last?.body == Data(elements.joined()))
        #expect(server.requests.last?.field("Transfer-Encoding") == "chunked")
    }

    @Test("with a Content-Length there are no chunks; bytes that are missing are an error")
    func length() async throws {
        let content = AsyncStream<[UInt8]> { continuation in
            continuation.yield([1, 2, 3])
            continuation.yield([4])
            continuation.finish()
        }
        let sent = await session.upload(content, to: server.url("/anything"), headers: ["Content-Length": "4"])
            .serializingData().response
        #expect(sent.error == nil && server.requests.last?.body == Data([1, 2, 3, 4]))
        #expect(server.requests.last?.field("Content-Length") == "4")
        let short = AsyncStream<[UInt8]> { $0.finish() }
        let failed = await session.upload(short, to: server.url("/anything"), headers: ["Content-Length": "4"])
            .serializingData().response
        #expect(failed.error != nil)
    }

    @Test("bytes after the Content-Length are an error", arguments: [[[1, 2, 3, 4, 5]], [[1, 2, 3, 4], [5]]])
    func tooLong(elements: [[UInt8]]) async throws {
        // The answer of a server that is content with the announced bytes would end the request first.
        let silent = try ScriptedServer.start([.receiveHead, .hold])
        let content = AsyncStream<[UInt8]> { continuation in
            for element in elements { continuation.yield(element) }
            continuation.finish()
        }
        let error = await session.upload(content, to: silent.url(), headers: ["Content-Length": "4"])
            .serializingData().response.error
        let cause = (error?.underlyingError as? URLError)?.userInfo[NSUnderlyingErrorKey]
        #expect((cause as? BodyLengthError)?.missingByteCount == 0, "\(String(describing: error))")
    }

    @Test("what the sequence throws ends the request")
    func failure() async throws {
        let content = AsyncThrowingStream<Data, any Error> { continuation in
            continuation.yield(Data(count: 10))
            continuation.finish(throwing: Broken())
        }
        let error = await session.upload(content, to: server.url("/anything")).serializingData().response.error
        #expect(error?.urlErrorCode == .requestBodyStreamExhausted)
        #expect((error?.underlyingError as? URLError)?.userInfo[NSUnderlyingErrorKey] is Broken)
    }

    @Test("it is read once: there is no retry, as with a stream")
    func once() async throws {
        let content = AsyncStream<Data> { $0.finish() }
        let retrier = Retrier { request, _, _, completion in completion(request.retryCount == 0 ? .retry : .doNotRetry)
        }
        let request = session.upload(content, to: server.url("/status/503"), interceptor: retrier).validate()
        let error = await request.serializingData().response.error
        #expect(error?.responseCode == 503 && request.retryCount == 0)
    }

    @Test("a request that is cancelled ends the sequence that it waits for")
    func cancelled() async throws {
        let (ends, end) = AsyncStream<Void>.makeStream()
        let (begins, begin) = AsyncStream<Void>.makeStream()
        let content = AsyncStream<Data> { continuation in
            continuation.onTermination = { _ in end.yield() }
            continuation.yield(Data(count: 1))
            begin.yield()
        }
        let request = session.upload(content, to: server.url("/anything")).resume()
        for await _ in begins { break }
        try await eventuallySent(request)
        request.cancel()
        for await _ in ends { break }
    }

    private func eventuallySent(_ request: UploadRequest) async throws {
        await eventually("the first element is sent") { request.uploadProgress.completedUnitCount == 1 }
    }

    @Test("the next element is asked for when there is room for it, and not before")
    func backPressure() throws {
        let asked = Mutex(0)
        let content = AsyncStream<Data>(unfolding: {
            asked.withLock { $0 += 1 }
            return Data(count: 1000)
        })
        let reader = SequenceBodyReader(content)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 400, alignment: 1)
        defer { buffer.deallocate() }
        let counts = try (0..<6).map { _ in try reader.read(into: buffer) }
        #expect(counts == [400, 400, 200, 400, 400, 200] && asked.withLock { $0 } == 2)
    }

    @Test("many sequences that wait hold up neither each other nor the tasks of the process")
    func many() async throws {
        let continuations = ProtectedList<AsyncStream<Data>.Continuation>()
        let requests = (0..<100).map { _ in
            session.upload(AsyncStream<Data> { continuations.append($0) }, to: server.url("/upload")).resume()
        }
        for continuation in continuations.all {
            continuation.yield(Data(count: 5))
            continuation.finish()
        }
        for request in requests {
            #expect(try await request.serializingDecodable(Uploaded.self).value.byteCount == 5)
        }
    }

    @Test("the content of a stream is a throwing sequence of data")
    func stream() async throws {
        var content = Data()
        for try await data in session.streamRequest(server.url("/bytes/300000")).validate().content() {
            content += data
        }
        #expect(content.count == 300_000)
        let error = await #expect(throws: AFError.self) {
            for try await _ in session.streamRequest(server.url("/status/404")).validate().content() {}
        }
        #expect(error?.responseCode == 404)
    }
}
