import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Cached response handlers", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CachedResponseHandlerTests {
    private static let fresh = "Cache-Control: max-age=60"

    @Test("the session's handler decides", arguments: StoreKind.allCases)
    func session(kind: StoreKind) async throws {
        let play = try CachePlay(
            [.ok("one", Self.fresh), .ok("two", Self.fresh)], store: kind, handler: .doNotCache)
        await play.perform([.network("one"), .network("two")], "nothing is stored")
    }

    @Test("the request's handler decides instead of the session's", arguments: StoreKind.allCases)
    func request(kind: StoreKind) async throws {
        let play = try CachePlay([.ok("one", Self.fresh)], store: kind, handler: .doNotCache)
        let request = play.request(.network("one")).cacheResponse(using: .cache)
        #expect(request.cachedResponseHandler != nil)
        #expect(await request.serializingString().response.value == "one")
        await play.perform([.cache("one")], "stored")
    }

    @Test("what a handler modifies is what the cache answers; the response itself stays", arguments: StoreKind.allCases)
    func modify(kind: StoreKind) async throws {
        let play = try CachePlay([.ok("one", Self.fresh)], store: kind)
        let handler = ResponseCacher.modify { task, response in
            #expect((task.response as? HTTPURLResponse)?.statusCode == 200 && response.data == Data("one".utf8))
            guard let old = response.response as? HTTPURLResponse, let url = old.url,
                let new = HTTPURLResponse(
                    url: url, statusCode: 203, httpVersion: "HTTP/1.1", headerFields: ["Cache-Control": "max-age=5"])
            else { return nil }
            return CachedURLResponse(
                response: new, data: Data("changed".utf8), userInfo: ["note": "kept"], storagePolicy: .allowed)
        }
        let first = await play.request(.network("one")).cacheResponse(using: handler).serializingString().response
        #expect(first.value == "one" && first.response?.statusCode == 200)
        await play.perform([.cache("changed", after: 4, status: 203)], "changed")
        if kind == .urlCache {
            await play.session.flushResponseStore()
            let cache = play.session.sessionConfiguration.urlCache
            let stored = cache?.cachedResponse(for: URLRequest(url: play.server.url()))
            #expect(stored?.userInfo?["note"] as? String == "kept")
        }
    }

    @Test("of several answers of a handler the first one counts")
    func twice() async throws {
        let play = try CachePlay([.ok("one", Self.fresh), .ok("two", Self.fresh)])
        let handler = RepeatingHandler()
        let response = await play.request(.network("one")).cacheResponse(using: handler).serializingString().response
        await eventually("both answers are given") { handler.ends.all.count == 1 }
        #expect(response.value == "one" && response.metrics?.transactionMetrics.count == 1)
        await play.perform([.network("two")], "the first answer was to store nothing")
    }

    @Test("a handler that gives nothing, or a policy that allows nothing, stores nothing")
    func refused() async throws {
        let play = try CachePlay([.ok("one", Self.fresh), .ok("two", Self.fresh), .ok("three", Self.fresh)])
        let none = play.request(.network("one")).cacheResponse(using: .modify { _, _ in nil })
        #expect(await none.serializingString().response.value == "one")
        let refusing = ResponseCacher.modify { _, response in
            CachedURLResponse(
                response: response.response, data: response.data, userInfo: nil, storagePolicy: .notAllowed)
        }
        let second = play.request(.network("two")).cacheResponse(using: refusing)
        #expect(await second.serializingString().response.value == "two")
        await play.perform([.network("three")], "nothing was stored")
    }

    private static let inMemoryOnly = ResponseCacher.modify { _, response in
        CachedURLResponse(
            response: response.response, data: response.data, userInfo: nil, storagePolicy: .allowedInMemoryOnly)
    }

    @Test("a response that a handler allows in memory only reaches no disk", arguments: StoreKind.allCases)
    func inMemoryOnly(kind: StoreKind) async throws {
        let folder = try TemporaryFolder()
        let place = folder.file("cache")
        let answers: [Answer] = [.ok("one", "Cache-Control: max-age=60", "ETag: \"1\""), .ok("two", Self.fresh)]
        let play = try CachePlay(answers, store: kind, handler: Self.inMemoryOnly) { configuration in
            guard kind == .urlCache else { return }
            configuration.urlCache = URLCache(memoryCapacity: 4 << 20, diskCapacity: 8 << 20, diskPath: place.path)
        }
        await play.perform([.network("one")], "asked")
        await play.session.flushResponseStore()
        // A database is on a disk, and keeps nothing of it; a URLCache keeps it in its memory. Where another store
        // keeps its responses is not known.
        await play.perform([kind == .urlCache ? .cache("one") : .network("two")], "asked again")
        await play.session.flushResponseStore()
        let names = try? FileManager.default.contentsOfDirectory(atPath: place.path)
        #expect((names ?? []).isEmpty)
    }

    @Test("no handler is asked about a response that RFC 9111 forbids to store, or that the cache answers")
    func notAsked() async throws {
        let asked = ProtectedList<Int>()
        let handler = ResponseCacher.modify { _, response in
            asked.append(response.data.count)
            return response
        }
        let play = try CachePlay([.ok("one", "Cache-Control: no-store"), .ok("stored", Self.fresh)], handler: handler)
        await play.perform([.network("one"), .network("stored"), .cache("stored")], "asked once")
        #expect(asked.all == [6])
    }

    @Test("monitors hear that a response is about to be stored, before the task completes")
    func monitored() async throws {
        let events = ProtectedList<String>()
        let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "monitor"))
        monitor.dataTaskWillCacheResponse = { _, _, response in events.append("will cache \(response.data.count)") }
        monitor.requestDidCompleteTaskWithError = { _, _, _ in events.append("completed") }
        let play = try CachePlay([.ok("one", Self.fresh)], eventMonitors: [monitor])
        await play.perform([.network("one")], "stored")
        monitor.queue.sync {}
        #expect(events.all == ["will cache 3", "completed"])
    }
}

/// Answers twice: first to store nothing, then to store the response.
private final class RepeatingHandler: CachedResponseHandler {
    let ends = ProtectedList<Int>()

    func dataTask(
        _ task: URLSessionDataTask, willCacheResponse response: CachedURLResponse,
        completion: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        completion(nil)
        completion(response)
        ends.append(0)
    }
}
