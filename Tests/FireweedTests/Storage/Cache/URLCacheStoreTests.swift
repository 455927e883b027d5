import Dispatch
import Fireweed
import FireweedTransport
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

@Suite("URLCache as a store", .timeLimit(.minutes(TestTimeouts.minutes)))
struct URLCacheStoreTests {
    /// A session over a cache, whose origin's responses may be stored and have content of this length.
    private func session(
        _ cache: URLCache, byteCount: Int, asked: @escaping @Sendable (String) -> Void = { _ in }
    ) -> Session {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.urlCache = cache
        let transport = ScriptedTransport { message in
            asked(message.url)
            let fields = [Field(name: "Cache-Control", value: "max-age=86400")]
            return [.head(ResponseHead(status: 200, fields: fields)), .content(Data(count: byteCount))]
        }
        return Session(transport: transport, configuration: configuration)
    }

    @Test("responses that are stored again and again are removed when the memory is full, and the process lives")
    func repeatedStores() async {
        await #expect(processExitsWith: .success) {
            let folder = FileManager.default.temporaryDirectory.appending(path: "fireweed-urlcache-\(getpid())")
            defer { try? FileManager.default.removeItem(at: folder) }
            for diskCapacity in [0, 32 << 20] {
                let configuration = URLSessionConfiguration.af.ephemeral
                configuration.urlCache = URLCache(
                    memoryCapacity: 1 << 20, diskCapacity: diskCapacity, diskPath: folder.path)
                let transport = ScriptedTransport { _ in
                    let fields = [Field(name: "Cache-Control", value: "no-cache"), Field(name: "ETag", value: "\"1\"")]
                    return [.head(ResponseHead(status: 200, fields: fields)), .content(Data(count: 40_000))]
                }
                let session = Session(transport: transport, configuration: configuration)
                for number in [1, 1, 1, 2, 2] + Array(3...60) {
                    let content = try await session.request("http://h.example/\(number)").serializingData().value
                    guard content.count == 40_000 else { exit(1) }
                }
            }
        }
    }

    @Test("a response answers while it is being written to the disk")
    func lookDuringWrite() async throws {
        let folder = try TemporaryFolder()
        let cache = URLCache(memoryCapacity: 64 << 20, diskCapacity: 64 << 20, diskPath: folder.url.path)
        let asked = ProtectedList<String>()
        let session = session(cache, byteCount: 40_000) { asked.append($0) }
        let urls = (0..<100).map { "http://h.example/\($0)" }
        for url in urls {
            for _ in 0..<30 { _ = try await session.request(url).serializingData().value }
        }
        #expect(asked.all == urls)
    }

    @Test("a response that is removed while it is being written to the disk does not come back")
    func removalDuringWrite() async throws {
        /// Calls the test once, when a response is about to be written to the disk.
        final class WatchedCache: URLCache, @unchecked Sendable {
            let onWrite = Mutex<(@Sendable () -> Void)?>(nil)
            override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {
                if cachedResponse.storagePolicy == .allowed { onWrite.withLock { $0.take() }?() }
                super.storeCachedResponse(cachedResponse, for: request)
            }
        }

        let folder = try TemporaryFolder()
        let cache = WatchedCache(memoryCapacity: 64 << 20, diskCapacity: 64 << 20, diskPath: folder.url.path)
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.urlCache = cache
        let transport = ScriptedTransport { message in
            let fields = [Field(name: "Cache-Control", value: "max-age=60")]
            return [.head(ResponseHead(status: 200, fields: fields)), .content(Data("\(message.method)".utf8))]
        }
        let session = Session(transport: transport, configuration: configuration)
        let url = "http://h.example/"
        let (writes, continuation) = AsyncStream<Void>.makeStream()
        cache.onWrite.withLock {
            $0 = {
                let isChanged = DispatchSemaphore(value: 0)
                session.request(url, method: .post).response(queue: .global()) { _ in isChanged.signal() }
                isChanged.wait()
                continuation.yield()
            }
        }
        _ = try await session.request(url).serializingData().value
        for await _ in writes { break }
        await session.flushResponseStore()
        let response = await session.request(url).serializingData().response
        #expect(response.metrics?.responseSource == .network)
    }

    @Test("a burst that is longer than the memory reaches the disk")
    func burst() async throws {
        let folder = try TemporaryFolder()
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 64 << 20, diskPath: folder.url.path)
        let session = session(cache, byteCount: 50_000)
        for number in 0..<40 { _ = try await session.request("http://h.example/\(number)").serializingData().value }
        await session.flushResponseStore()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).count == 40)
    }

    @Test("what the app removes after a flush does not come back, in the memory or on the disk")
    func removalByTheApp() async throws {
        let folder = try TemporaryFolder()
        let cache = URLCache(memoryCapacity: 64 << 20, diskCapacity: 64 << 20, diskPath: folder.url.path)
        let session = session(cache, byteCount: 100_000)
        let urls = (0..<40).map { "http://h.example/\($0)" }
        for url in urls { _ = try await session.request(url).serializingData().value }
        await session.flushResponseStore()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).count == urls.count)
        cache.removeAllCachedResponses()
        await session.flushResponseStore()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
        let response = await session.request(urls[0]).serializingData().response
        #expect(response.metrics?.responseSource == .network)
    }

    @Test("a subclass that keeps responses itself is asked each time")
    func subclass() async throws {
        final class OwnCache: URLCache, @unchecked Sendable {
            // SAFETY: the responses are behind a lock, and `URLCache` synchronises itself.
            let responses = Mutex<[URL: CachedURLResponse]>([:])
            override func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
                request.url.flatMap { url in responses.withLock { $0[url] } }
            }
        }
        let cache = OwnCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.urlCache = cache
        let transport = ScriptedTransport { _ in
            [.head(ResponseHead(status: 200, fields: [])), .content(Data("network".utf8))]
        }
        let session = Session(transport: transport, configuration: configuration)
        let url = try #require(URL(string: "http://h.example/"))
        #expect(try await session.request(url).serializingString().value == "network")
        let head = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: [:]))
        cache.responses.withLock { $0[url] = CachedURLResponse(response: head, data: Data("own".utf8)) }
        var request = URLRequest(url: url)
        request.cachePolicy = .returnCacheDataDontLoad
        #expect(try await session.request(request).serializingString().value == "own")
    }
}
