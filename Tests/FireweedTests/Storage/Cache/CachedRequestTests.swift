import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

@Suite("Requests that the cache answers", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CachedRequestTests {
    private let fresh = "Cache-Control: max-age=60"

    @Test("a stream gets a stored response in pieces, and its end")
    func stream() async throws {
        let content = String(repeating: "0123456789abcdef", count: 20_000)
        let play = try CachePlay([.ok(content, fresh)])
        await play.perform([.network(content)], "stored")
        var (text, pieces) = ("", 0)
        for await stream in play.session.streamRequest(play.server.url()).streamTask().streamingStrings() {
            text += stream.value ?? ""
            pieces += stream.value == nil ? 0 : 1
            if let completion = stream.completion { #expect(completion.metrics?.responseSource == .cache) }
        }
        #expect(text == content && pieces > 1 && play.heads.count == 1)
    }

    @Test(
        "a response that a change at the origin has overtaken is not stored (RFC 9111 §4.4)", arguments: [false, true])
    func overtaken(isStoredAlready: Bool) async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n"
        let stale: [ScriptedServer.Action] = [
            .receiveHead, .send(head + "Cache-Control: max-age=0\r\n\r\nold"), .close,
        ]
        let late: [ScriptedServer.Action] = [
            .receiveHead, .wait(for: "changed"), .send(head + fresh + "\r\n\r\none"), .close,
        ]
        let post: [ScriptedServer.Action] = [.receiveHead, .send(head + "\r\n204"), .close]
        let second: [ScriptedServer.Action] = [.receiveHead, .send(head + fresh + "\r\n\r\ntwo"), .close]
        let server = try ScriptedServer.start(scripts: (isStoredAlready ? [stale] : []) + [late, post, second])
        let store = MemoryResponseStore(tellsMisses: true)
        let session = Session(configuration: .af.ephemeral, options: SessionOptions(responseStore: store))
        if isStoredAlready { _ = try await session.request(server.url()).serializingString().value }
        async let overtaken = session.request(server.url()).serializingString().value
        let number = isStoredAlready ? 1 : 0
        _ = try await server.events.first { if case .head(number, _) = $0 { true } else { false } }
        #expect(try await session.request(server.url(), method: .post).serializingString().value == "204")
        server.signal("changed")
        #expect(try await overtaken == "one")
        #expect(try await session.request(server.url()).serializingString().value == "two")
        let last = await session.request(server.url()).serializingString().response
        #expect(last.value == "two" && last.metrics?.responseSource == .cache)
    }

    @Test("each store keeps the responses of different Host fields apart", arguments: StoreKind.allCases)
    func hosts(kind: StoreKind) async throws {
        let play = try CachePlay([.ok("one", fresh), .ok("two", fresh), .ok("three", fresh)], store: kind)
        await play.perform([.network("one"), .network("two", ["Host": "b.example"])], "another target")
        // A URLCache has room for one response of each host and path, once both are written.
        await play.session.flushResponseStore()
        let last: [Ask] = kind == .urlCache ? [.network("three")] : [.cache("one")]
        await play.perform([.cache("two", ["Host": "b.example"])] + last, "each has its own")
    }

    @Test("what a stream gets is stored")
    func storedFromStream() async throws {
        let play = try CachePlay([.ok("one", fresh)])
        for await _ in play.session.streamRequest(play.server.url()).streamTask().streamingStrings() {}
        await play.perform([.cache("one")], "after a stream")
    }

    @Test("a download gets a stored response as a file, and stores none itself")
    func download() async throws {
        let play = try CachePlay([.ok("one", fresh), .ok("two", fresh)])
        let first = await play.session.download(play.server.url()).serializingString().response
        #expect(first.value == "one")
        await play.perform([.network("two")], "the download has stored nothing")
        let second = await play.session.download(play.server.url()).serializingString().response
        #expect(second.value == "two" && second.metrics?.responseSource == .cache)
    }

    @Test("a stored response passes validation, progress and the head's handler as one from the network does")
    func sameWay() async throws {
        let play = try CachePlay([.ok("[1]", fresh, "Content-Type: application/json")])
        await play.perform([.network("[1]")], "stored")
        let heads = ProtectedList<Int>()
        let request = play.request(.cache("[1]")).validate()
            .onHTTPResponse(on: .global()) { response, decide in
                heads.append(response.statusCode)
                decide(.allow)
            }
        let response = await request.serializingDecodable([Int].self).response
        #expect(response.value == [1] && heads.all == [200])
        #expect(request.downloadProgress.completedUnitCount == 3)
    }

    @Test("a handler of the head can cancel a stored response")
    func cancelledAtHead() async throws {
        let play = try CachePlay([.ok("one", fresh)])
        await play.perform([.network("one")], "stored")
        let response = await play.request(.cache("one")).onHTTPResponse(on: .global()) { _, decide in decide(.cancel) }
            .serializingData().response
        #expect(response.error?.isExplicitlyCancelledError == true)
    }

    @Test("a stored redirect is followed without asking again")
    func redirect() async throws {
        let play = try CachePlay([
            Answer(301, [fresh, "Location: /b"], "moved"), .ok("one"), .ok("two"),
        ])
        let first = await play.response(.network("one", path: "/a"))
        let second = await play.response(.network("two", path: "/a"))
        #expect(first.value == "one" && second.value == "two" && play.heads.count == 3)
        #expect(second.metrics?.transactionMetrics.map(\.resourceFetchType) == [.localCache, .networkLoad])
        #expect(second.metrics?.redirectCount == 1)
    }

    @Test("a suspended request gets the stored response when it is resumed")
    func suspended() async throws {
        let play = try CachePlay([.ok("one", fresh)])
        await play.perform([.network("one")], "stored")
        let request = play.request(.cache("one"))
        let task = request.serializingString(automaticallyCancelling: false)
        request.suspend()
        request.resume()
        #expect(await task.response.value == "one")
    }

    @Test("a cancelled request ends once, from the cache and from the network")
    func cancelled() async throws {
        let play = try CachePlay([.ok("one", fresh)])
        await play.perform([.network("one")], "stored")
        for _ in 0..<100 {
            let request = play.request(.cache("one"))
            let task = request.serializingString()
            request.resume().cancel()
            let response = await task.response
            #expect(response.error?.isExplicitlyCancelledError == true || response.value == "one")
        }
        #expect(play.heads.count == 1)
    }

    @Test("metrics tell network, cache and revalidation apart")
    func metrics() async throws {
        let play = try CachePlay([.ok("one", "Cache-Control: max-age=10", "ETag: \"a\""), .notModified()])
        let network = try #require(await play.response(.network("one")).metrics)
        let cache = try #require(await play.response(.cache("one")).metrics)
        play.clock.advance(by: 20)
        let validated = try #require(await play.response(.validated("one")).metrics)
        #expect([network, cache, validated].map(\.responseSource) == [.network, .cache, .revalidation])
        #expect(network.transactionMetrics.map(\.resourceFetchType) == [.networkLoad])
        #expect(cache.transactionMetrics.map(\.resourceFetchType) == [.localCache])
        #expect(cache.transactionMetrics.first?.networkProtocolName == nil)
        #expect(validated.transactionMetrics.map(\.resourceFetchType) == [.networkLoad, .localCache])
        #expect(validated.transactionMetrics.map { $0.response?.statusCode } == [304, 200])
        #expect(validated.redirectCount == 0)
    }

    @Test("cookies of a 304 are kept; those of a stored response are set once")
    func cookies() async throws {
        let play = try CachePlay([
            .ok("one", "Cache-Control: max-age=10", "ETag: \"a\"", "Set-Cookie: a=1"), .notModified("Set-Cookie: b=2"),
        ])
        let storage = try #require(play.session.sessionConfiguration.httpCookieStorage)
        await play.perform([.network("one")], "sets a")
        for cookie in storage.cookies ?? [] { storage.deleteCookie(cookie) }
        await play.perform([.cache("one")], "sets nothing")
        #expect(storage.cookies?.isEmpty == true)
        await play.perform([.validated("one", after: 20)], "sets b")
        let names = (storage.cookies ?? []).map(\.name)
        #expect(names.contains("b"))
    }

    @Test("a thousand requests for one stale URL: the answer comes at once, and one of them asks")
    func oneRefresh() async throws {
        let play = try CachePlay([
            .ok("one", "Cache-Control: max-age=10, stale-while-revalidate=1000"), .ok("two", fresh),
        ])
        await play.perform([.network("one")], "stored")
        play.clock.advance(by: 20)
        let answers = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<1000 { group.addTask { await play.response(.cache("one")).value } }
            return await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(answers.isSubset(of: ["one", "two"]))
        await play.perform([.eventually("two")], "behind the answers")
        #expect(play.heads.count == 2)
    }

    @Test("gzip: the stored content is the decoded one")
    func coded() async throws {
        let server = try FixtureServer.start()
        let session = Session.isolated()
        let request = { session.request(server.url("/gzip")) }
        var plain = URLRequest(url: server.url("/gzip"))
        plain.cachePolicy = .returnCacheDataElseLoad
        let first = await session.request(plain).serializingData().response
        let second = await session.request(plain).serializingData().response
        #expect(first.value == second.value && first.value?.first == UInt8(ascii: "{"))
        #expect(second.metrics?.responseSource == .cache && second.response?.headers["Content-Encoding"] == "gzip")
        #expect(await request().serializingData().response.metrics?.responseSource != nil)
    }

    @Test("the default session caches in memory, one without urlCache does not")
    func defaults() async throws {
        let server = try FixtureServer.start()
        let url = server.url("/cache/1000")
        let (with, without) = (Session(), Session.isolated { $0.urlCache = nil })
        let cache = try #require(with.sessionConfiguration.urlCache)
        defer { cache.removeCachedResponse(for: URLRequest(url: url)) }
        _ = await with.request(url).serializingData().response
        #expect(await with.request(url).serializingData().response.metrics?.responseSource == .cache)
        await with.flushResponseStore()
        #expect(cache.cachedResponse(for: URLRequest(url: url)) != nil)
        #expect(URLCache.shared.cachedResponse(for: URLRequest(url: url)) == nil)
        _ = await without.request(url).serializingData().response
        #expect(await without.request(url).serializingData().response.metrics?.responseSource == .network)
    }
}
