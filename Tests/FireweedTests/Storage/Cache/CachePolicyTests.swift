import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("URLRequest.CachePolicy, with Apple's meanings", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CachePolicyTests {
    private static let stale = "Cache-Control: max-age=10"

    /// What is stored, what is asked after 20 seconds, and whether the origin is asked.
    private static let rows: [CacheCase] = [
        CacheCase(
            "Apple", "useProtocolCachePolicy: stale is not used", [.ok("one", stale), .ok("two")],
            [.network("one"), Ask.network("two", after: 20).with(.useProtocolCachePolicy)]),
        CacheCase(
            "Apple", "reloadIgnoringLocalCacheData: fresh is not used, and caches on the way may answer",
            [.ok("one", CacheTable.fresh, "ETag: \"a\""), .ok("two")],
            [
                .network("one"),
                Ask.network("two", omits: ["Cache-Control", "Pragma", "If-None-Match"]).with(
                    .reloadIgnoringLocalCacheData),
            ]),
        CacheCase(
            "Apple", "reloadIgnoringLocalCacheData: what comes is stored",
            [.ok("one", CacheTable.fresh), .ok("two", CacheTable.fresh)],
            [.network("one"), Ask.network("two").with(.reloadIgnoringLocalCacheData), .cache("two")]),
        CacheCase(
            "Apple", "reloadIgnoringLocalCacheData: what comes and may not be stored ends what was",
            [.ok("one", CacheTable.fresh), .ok("two", "Cache-Control: no-store"), .ok("three")],
            [.network("one"), Ask.network("two").with(.reloadIgnoringLocalCacheData), .network("three")]),
        CacheCase(
            "Apple", "reloadIgnoringLocalAndRemoteCacheData: caches on the way are asked not to answer",
            [.ok("one", CacheTable.fresh), .ok("two", CacheTable.fresh)],
            [
                .network("one"),
                Ask.network("two", sends: ["Cache-Control: no-cache", "Pragma: no-cache"])
                    .with(.reloadIgnoringLocalAndRemoteCacheData),
            ]),
        CacheCase(
            "Apple", "reloadIgnoringLocalAndRemoteCacheData: a wish of the request's own stays", [.ok("one")],
            [
                Ask.network("one", ["Cache-Control": "max-age=5"], sends: ["Cache-Control: max-age=5"])
                    .with(.reloadIgnoringLocalAndRemoteCacheData)
            ]),
        CacheCase(
            "Apple", "returnCacheDataElseLoad: stale is used", [.ok("one", stale)],
            [.network("one"), Ask.cache("one", after: 2000).with(.returnCacheDataElseLoad)]),
        CacheCase(
            "Apple", "returnCacheDataElseLoad: no-cache is used",
            [.ok("one", "Cache-Control: no-cache")], [.network("one"), Ask.cache("one").with(.returnCacheDataElseLoad)]),
        CacheCase(
            "Apple", "returnCacheDataElseLoad: without anything stored it is loaded, and stored", [.ok("one", stale)],
            [
                Ask.network("one").with(.returnCacheDataElseLoad),
                Ask.cache("one", after: 99).with(.returnCacheDataElseLoad),
            ]),
        CacheCase(
            "Apple", "returnCacheDataElseLoad: what says nothing about caching is stored for it", [.ok("one")],
            [Ask.network("one").with(.returnCacheDataElseLoad), Ask.cache("one").with(.returnCacheDataElseLoad)]),
        CacheCase(
            "Apple", "returnCacheDataElseLoad: no-store is never stored",
            [.ok("one", "Cache-Control: no-store"), .ok("two", "Cache-Control: no-store")],
            [Ask.network("one").with(.returnCacheDataElseLoad), Ask.network("two").with(.returnCacheDataElseLoad)]),
        CacheCase(
            "Apple", "returnCacheDataElseLoad: another variant is loaded",
            [.ok("one", CacheTable.fresh, "Vary: X-Kind"), .ok("two", CacheTable.fresh)],
            [
                .network("one", ["X-Kind": "a"]),
                Ask.network("two", ["X-Kind": "b"]).with(.returnCacheDataElseLoad),
            ]),
        CacheCase(
            "Apple", "returnCacheDataDontLoad: stale is used", [.ok("one", stale)],
            [.network("one"), Ask.cache("one", after: 2000).with(.returnCacheDataDontLoad)]),
        CacheCase(
            "Apple", "returnCacheDataDontLoad: without anything stored it fails", [],
            [.fails(.resourceUnavailable, policy: .returnCacheDataDontLoad)]),
        CacheCase(
            "Apple", "reloadRevalidatingCacheData: fresh is validated",
            [.ok("one", CacheTable.fresh, "ETag: \"a\""), .notModified()],
            [
                .network("one"),
                Ask.validated("one", sends: ["If-None-Match: \"a\"", "Cache-Control: max-age=0"], omits: ["Pragma"])
                    .with(.reloadRevalidatingCacheData),
            ]),
        CacheCase(
            "Apple", "reloadRevalidatingCacheData: what changed is loaded",
            [.ok("one", CacheTable.fresh, "ETag: \"a\""), .ok("two", CacheTable.fresh)],
            [.network("one"), Ask.network("two").with(.reloadRevalidatingCacheData), .cache("two")]),
        CacheCase(
            "Apple", "reloadRevalidatingCacheData: without anything stored it is loaded, past caches on the way",
            [.ok("one")],
            [Ask.network("one", sends: ["Cache-Control: max-age=0"]).with(.reloadRevalidatingCacheData)]),
        CacheCase(
            "Apple", "reloadRevalidatingCacheData: a wish of the request's own stays", [.ok("one")],
            [
                Ask.network("one", ["Cache-Control": "max-age=5"], sends: ["Cache-Control: max-age=5"])
                    .with(.reloadRevalidatingCacheData)
            ]),
    ]

    @Test("a policy of the request", arguments: rows, StoreKind.allCases)
    func policy(row: CacheCase, kind: StoreKind) async throws {
        let play = try CachePlay(row.answers, store: kind)
        await play.perform(row.asks, "\(row.testDescription)")
        #expect(play.heads.count == row.answers.count, "\(row.testDescription)")
    }

    @Test("metrics show the fields that a policy adds")
    func shownFields() async throws {
        let server = try FixtureServer.start()
        var request = URLRequest(url: server.url("/anything"))
        request.cachePolicy = .reloadIgnoringLocalAndRemoteCacheData
        for cache in [URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil), nil] {
            let session = Session.isolated { $0.urlCache = cache }
            let metrics = try #require(await session.request(request).serializingData().response.metrics)
            #expect(metrics.transactionMetrics.last?.request.headers["Cache-Control"] == "no-cache")
            #expect(metrics.transactionMetrics.last?.request.headers["Pragma"] == "no-cache")
        }
    }

    @Test("the configuration's policy is for requests without one of their own")
    func configured() async throws {
        let play = try CachePlay([.ok("one", "Cache-Control: max-age=10"), .ok("two")]) {
            $0.requestCachePolicy = .returnCacheDataElseLoad
        }
        await play.perform([.network("one"), .cache("one", after: 100)], "the configuration's")
        await play.perform([Ask.network("two").with(.reloadIgnoringLocalCacheData)], "the request's own")
    }

    @Test("returnCacheDataDontLoad without a cache, and for POST, sends nothing and fails as a task does")
    func nothingIsSent() async throws {
        let server = try FixtureServer.start()
        let session = Session.isolated { $0.urlCache = nil }
        for method in ["GET", "POST"] {
            var request = URLRequest(url: server.url("/anything"))
            request.httpMethod = method
            request.cachePolicy = .returnCacheDataDontLoad
            let start = Date()
            let response = await session.request(request).serializingData().response
            let error = response.error
            guard case .sessionTaskFailed = error else { return #expect(Bool(false), "\(String(describing: error))") }
            #expect(error?.urlErrorCode == .resourceUnavailable)
            #expect(response.metrics?.responseSource == .notSent)
            #expect(response.metrics?.transactionMetrics.map(\.resourceFetchType) == [.unknown])
            #expect(response.metrics.map { $0.taskInterval.start >= start } == true, "the times are real")
        }
        #expect(server.requests.isEmpty)
    }

    @Test("reloadIgnoringLocalAndRemoteCacheData without a cache still tells the caches on the way")
    func remote() async throws {
        let server = try FixtureServer.start()
        let session = Session.isolated { $0.urlCache = nil }
        var request = URLRequest(url: server.url("/anything"))
        request.cachePolicy = .reloadIgnoringLocalAndRemoteCacheData
        _ = await session.request(request).serializingData().response
        #expect(server.requests.first?.field("Cache-Control") == "no-cache")
        #expect(server.requests.first?.field("Pragma") == "no-cache")
    }
}
