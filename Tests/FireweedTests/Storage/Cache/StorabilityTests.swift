import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Storable responses", .timeLimit(.minutes(TestTimeouts.minutes)))
struct StorabilityTests {
    /// Notes the content of what it is asked about, and leaves it as it is.
    private static func noting(_ asked: ProtectedList<String>) -> ResponseCacher {
        .modify { _, response in
            asked.append(String(decoding: response.data, as: UTF8.self))
            return response
        }
    }

    /// Gives each response this `Cache-Control` field.
    private static func adding(_ control: String) -> ResponseCacher {
        .modify { _, cached in
            guard let old = cached.response as? HTTPURLResponse, let url = old.url else { return nil }
            var headers = old.headers
            headers["Cache-Control"] = control
            return HTTPURLResponse(
                url: url, statusCode: old.statusCode, httpVersion: "HTTP/1.1", headerFields: headers.dictionary
            ).map { CachedURLResponse(response: $0, data: cached.data) }
        }
    }

    @Test(
        "a response that says nothing about caching is stored once the handler makes it fresh",
        arguments: StoreKind.allCases)
    func madeStorable(kind: StoreKind) async throws {
        let session = try CachePlay([.ok("one")], store: kind, handler: Self.adding("max-age=60"))
        await session.perform([.network("one"), .cache("one")], "the session's handler")
        let request = try CachePlay([.ok("one"), .ok("two"), .ok("three")], store: kind)
        await request.perform([.network("one")], "no handler")
        let second = request.request(.network("two")).cacheResponse(using: Self.adding("max-age=60"))
        #expect(await second.serializingString().response.value == "two")
        await request.perform([.cache("two"), .network("three", after: 61)], "the request's handler")
    }

    @Test("what the handler leaves as it is, is stored by the rules alone", arguments: StoreKind.allCases)
    func unchanged(kind: StoreKind) async throws {
        let asked = ProtectedList<String>()
        let play = try CachePlay([.ok("one"), .ok("two")], store: kind, handler: Self.noting(asked))
        await play.perform([.network("one"), .network("two")], "nothing makes it fresh")
        #expect(asked.all == ["one", "two"])
    }

    @Test(
        "a response without a validator that a handler wants to be stored is there for the policies that ignore its age",
        arguments: StoreKind.allCases, [true, false])
    func withoutValidator(kind: StoreKind, isChanged: Bool) async throws {
        let handler = ResponseCacher.modify { _, cached in
            CachedURLResponse(response: cached.response, data: Data("changed".utf8))
        }
        let play = try CachePlay([.ok("one"), .ok("two")], store: kind, handler: isChanged ? handler : .cache)
        let content = isChanged ? "changed" : "one"
        var (orElse, only) = (Ask.cache(content), Ask.cache(content))
        orElse.policy = .returnCacheDataElseLoad
        only.policy = .returnCacheDataDontLoad
        await play.perform([.network("one"), orElse, only, .network("two")], "stored, and stale")
    }

    @Test("a handler may forbid what the rules allow, by a field too")
    func forbidden() async throws {
        let fresh = "Cache-Control: max-age=60"
        let play = try CachePlay([.ok("one", fresh), .ok("two", fresh)], handler: Self.adding("no-store"))
        await play.perform([.network("one"), .network("two")], "nothing is stored")
    }

    @Test(
        "no handler is asked about a response that cannot be stored",
        arguments: [
            (Answer.ok("text", "Cache-Control: no-store"), Ask.network("text"), "no-store"),
            (.ok("text"), .network("text", ["Cache-Control": "no-store"]), "no-store of the request"),
            (.ok("text"), .network("text", method: "POST"), "POST"),
            (
                Answer(206, ["Content-Range: bytes 0-3/8"], "text"),
                .network("text", ["Range": "bytes=0-3"], status: 206), "a part"
            ),
            (Answer(500, [], "text"), .network("text", status: 500), "an error without a lifetime"),
            (
                .ok(String(repeating: "a", count: 300_000)), .network(String(repeating: "a", count: 300_000)),
                "too large"
            ),
        ])
    func notAsked(answer: Answer, ask: Ask, reason: String) async throws {
        let asked = ProtectedList<String>()
        let play = try CachePlay([answer], store: .urlCache, handler: Self.noting(asked))
        await play.perform([ask], "\(reason)")
        #expect(asked.all.isEmpty, "\(reason)")
    }

    @Test("no handler is asked in a session without a store, or about a download")
    func noStore() async throws {
        let asked = ProtectedList<String>()
        let without = try CachePlay([.ok("one")], store: .urlCache, handler: Self.noting(asked)) { $0.urlCache = nil }
        await without.perform([.network("one")], "no store")
        let download = try CachePlay([.ok("one")], handler: Self.noting(asked))
        let response = await download.session.download(download.server.url()).serializingString().response
        #expect(response.value == "one")
        #expect(asked.all.isEmpty)
    }

    @Test("monitors hear of a response that says nothing about caching, once, and not of one that the cache gives")
    func monitored() async throws {
        let heard = ProtectedList<Int>()
        let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "monitor"))
        monitor.dataTaskWillCacheResponse = { _, _, response in heard.append(response.data.count) }
        let play = try CachePlay(
            [.ok("one"), .ok("three", "Cache-Control: max-age=60")], eventMonitors: [monitor])
        await play.perform([.network("one"), .network("three"), .cache("three")], "two from the network")
        monitor.queue.sync {}
        #expect(heard.all == [3, 5])
    }
}
