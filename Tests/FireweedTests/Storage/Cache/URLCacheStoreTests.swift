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
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.urlCache = URLCache(memoryCapacity: 64 << 20, diskCapacity: 64 << 20, diskPath: folder.url.path)
        let asked = ProtectedList<String>()
        let transport = ScriptedTransport { message in
            asked.append(message.url)
            let fields = [Field(name: "Cache-Control", value: "max-age=86400")]
            return [.head(ResponseHead(status: 200, fields: fields)), .content(Data(count: 40_000))]
        }
        let session = Session(transport: transport, configuration: configuration)
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

    @Test("misses ask for the usage of a disk with responses once")
    func usageOfDisk() async throws {
        /// Counts the questions for the usage, which Foundation answers by a walk through the folder.
        final class CountingCache: URLCache, @unchecked Sendable {
            let questions = ProtectedList<Int>()
            override var currentDiskUsage: Int {
                questions.append(1)
                return 1
            }
        }
        let configuration = URLSessionConfiguration.af.ephemeral
        let cache = CountingCache(memoryCapacity: 0, diskCapacity: 1 << 20, diskPath: try TemporaryFolder().url.path)
        configuration.urlCache = cache
        let transport = ScriptedTransport { _ in [.head(ResponseHead(status: 200, fields: [])), .content(Data([1]))] }
        let session = Session(transport: transport, configuration: configuration)
        for number in 0..<20 { _ = try await session.request("http://h.example/\(number)").serializingData().value }
        #expect(cache.questions.all.count == 1)
    }
}
