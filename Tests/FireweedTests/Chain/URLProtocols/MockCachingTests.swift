import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("The cache and URLProtocol", .timeLimit(.minutes(TestTimeouts.minutes)))
struct MockCachingTests {
    private static let fresh = ["Cache-Control": "max-age=60"]

    private func session() -> Session {
        .mocked { $0.urlCache = URLCache(memoryCapacity: 4 << 20, diskCapacity: 0, diskPath: nil) }
    }

    @Test("a stored response never answers instead of a mock; the mock gets it, and may find it valid")
    func validity() async throws {
        let (url, script) = try MockProtocol.host { mock in
            if mock.cachedResponse == nil { return mock.answer("one", MockCachingTests.fresh, policy: .allowed) }
            mock.useCachedResponse()
            // Some protocols report the stored response themselves, too.
            mock.answer("other")
        }
        let session = session()
        #expect(await session.request(url).serializingString().response.value == "one")
        await session.flushResponseStore()
        let second = await session.request(url).serializingString().response
        #expect(second.value == "one" && second.metrics?.responseSource == .cache)
        #expect(script.requests.all.count == 2)
    }

    @Test("a response that must not be stored is not stored, and no handler is asked")
    func policy() async throws {
        let asked = ProtectedList<Int>()
        let handler = ResponseCacher.modify { _, response in
            asked.append(response.data.count)
            return response
        }
        let stored = ProtectedList<Bool>()
        for policy in [URLCache.StoragePolicy.notAllowed, .allowed] {
            let (url, _) = try MockProtocol.host { mock in
                stored.append(mock.cachedResponse != nil)
                mock.answer("text", MockCachingTests.fresh, policy: policy)
            }
            let session = session()
            for _ in 0..<2 {
                _ = await session.request(url).cacheResponse(using: handler).serializingString().response
                await session.flushResponseStore()
            }
        }
        #expect(asked.all == [4, 4])
        #expect(stored.all == [false, false, false, true])
    }

    @Test("what may be stored in memory only is in the memory of a URLCache, and in no database")
    func memoryOnly() async throws {
        let folder = try TemporaryFolder()
        let place = folder.file("cache")
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.protocolClasses = [MockProtocol.self]
        let database = Session(
            configuration: configuration,
            options: SessionOptions(responseStore: try SQLiteResponseStore(url: folder.file("cache.sqlite"))))
        let memory = Session.mocked {
            $0.urlCache = URLCache(memoryCapacity: 4 << 20, diskCapacity: 8 << 20, diskPath: place.path)
        }
        for (session, isFound) in [(database, false), (memory, true)] {
            let stored = ProtectedList<Bool>()
            let (url, _) = try MockProtocol.host { mock in
                stored.append(mock.cachedResponse != nil)
                mock.answer("text", MockCachingTests.fresh, policy: .allowedInMemoryOnly)
            }
            for _ in 0..<2 {
                _ = await session.request(url).serializingString().response
                await session.flushResponseStore()
            }
            #expect(stored.all == [false, isFound])
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path).isEmpty)
    }
}
