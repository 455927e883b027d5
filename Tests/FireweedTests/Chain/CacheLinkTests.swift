import FireweedTransport
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

@testable import Fireweed

/// Keeps responses in a dictionary.
private final class DictionaryStore: ResponseStore {
    let maximumEntryByteCount = 1_000
    let isInMemory = true
    private let responses = Mutex<[String: [StoredResponse]]>([:])

    func response(for key: String, choosing choose: ([StoredHead]) -> Int?) -> StoredResponse? {
        let found = responses.withLock { $0[key] ?? [] }
        return choose(found.map(\.head)).map { found[$0] }
    }
    func store(_ response: StoredResponse, for key: String) { responses.withLock { $0[key] = [response] } }
    func updateHead(_ head: StoredHead, for key: String) { responses.withLock { $0[key]?[0].head = head } }
    func removeResponses(for key: String) { responses.withLock { $0[key] = nil } }
    func removeAllResponses() { responses.withLock { $0 = [:] } }
}

@Suite("Cache link", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CacheLinkTests {
    private static let now = Date(timeIntervalSince1970: 1_700_000_000)
    private static let url = "http://a.test/"

    /// A cache with one response to `GET http://a.test/`, which came a minute ago; an empty one without fields.
    private static func cache(_ fields: [String: String]?) -> ResponseCache {
        let cache = ResponseCache(store: DictionaryStore(), sharedFields: FieldBlock([])) { now }
        guard let fields, let url = URL(string: url) else { return cache }
        let moment = now.addingTimeInterval(-60)
        let head = StoredHead(
            response: ResponseHead(200, fields.merging(["Date": HTTPDate.text(of: moment)]) { own, _ in own }),
            requestTime: moment, responseTime: moment,
            variant: ResponseVariant(names: [], selection: Data(), credentials: Data()))
        cache.save(
            StoredResponse(head: head, content: Data("stored".utf8)), for: CacheKey(url, host: nil, in: cache.scope),
            sentAt: cache.moment)
        return cache
    }

    struct OutwardRow: Sendable, CustomTestStringConvertible {
        var stored: [String: String]? = ["Cache-Control": "max-age=100"]
        var method = "GET"
        var fields: [String: String] = [:]
        var policy = URLRequest.CachePolicy.useProtocolCachePolicy
        var use = CacheUse.byRules
        let decision: String
        /// The fields of the message that ask a cache or the origin for something.
        var sent: [String: String] = [:]
        var announced: [String] = []

        var testDescription: String {
            "\(method) \(fields) \(policy.rawValue) with \(stored.map { "\($0)" } ?? "nothing"): \(decision)"
        }
    }

    private static let stale = ["Cache-Control": "max-age=1", "ETag": "\"1\""]

    @Test(
        "a message on its way out",
        arguments: [
            OutwardRow(decision: "later answer from cache"),
            OutwardRow(stored: nil, decision: "later pass"),
            OutwardRow(stored: stale, decision: "later pass", sent: ["If-None-Match": "\"1\""]),
            OutwardRow(
                stored: ["Cache-Control": "max-age=1, stale-while-revalidate=100"],
                decision: "later answer from cache", announced: ["refresh of http://a.test/"]),
            OutwardRow(method: "HEAD", decision: "later answer from cache"),
            OutwardRow(method: "POST", decision: "pass"),
            OutwardRow(fields: ["Range": "bytes=1-"], decision: "pass", sent: ["Range": "bytes=1-"]),
            OutwardRow(
                fields: ["If-None-Match": "\"own\""], decision: "pass", sent: ["If-None-Match": "\"own\""]),
            // What is not to be stored may still be answered from the store (RFC 9111 §5.2.1.5).
            OutwardRow(fields: ["Cache-Control": "no-store"], decision: "later answer from cache"),
            OutwardRow(
                fields: ["Cache-Control": "no-cache"], decision: "later pass", sent: ["Cache-Control": "no-cache"]),
            OutwardRow(
                policy: .reloadIgnoringLocalCacheData, decision: "pass"),
            OutwardRow(
                policy: .reloadIgnoringLocalAndRemoteCacheData, decision: "pass",
                sent: ["Cache-Control": "no-cache", "Pragma": "no-cache"]),
            OutwardRow(
                stored: stale, policy: .reloadRevalidatingCacheData, decision: "later pass",
                sent: ["Cache-Control": "max-age=0", "If-None-Match": "\"1\""]),
            OutwardRow(stored: stale, policy: .returnCacheDataElseLoad, decision: "later answer from cache"),
            OutwardRow(stored: nil, policy: .returnCacheDataElseLoad, decision: "later pass"),
            OutwardRow(stored: stale, policy: .returnCacheDataDontLoad, decision: "later answer from cache"),
            OutwardRow(stored: nil, policy: .returnCacheDataDontLoad, decision: "later fail -1008"),
            OutwardRow(
                stored: nil, fields: ["Cache-Control": "only-if-cached"], decision: "later answer from notSent",
                sent: ["Cache-Control": "only-if-cached"]),
            OutwardRow(use: .unconditional(revision: nil), decision: "pass"),
        ])
    func outward(row: OutwardRow) async {
        let link = CacheLink(cache: Self.cache(row.stored))
        let host = StubHost(cachePolicy: row.policy)
        var message = OutgoingMessage(Self.url, row.fields, method: row.method)
        message.cacheUse = row.use
        var exchange = ChainContext(message)
        let sent = link.send(&exchange, for: host)
        let (decision, left) = await sent.settled(exchange)
        #expect(decision == row.decision)
        #expect(host.announced.all == row.announced)
        guard row.decision.hasSuffix("pass") || !row.sent.isEmpty else { return }
        #expect(Dictionary(left.fields.fields.map { ($0.name, $0.value) }) { first, _ in first } == row.sent)
        #expect(left.message.fields.fields.count == row.fields.count, "links add nothing to the message itself")
    }

    struct InwardRow: Sendable, CustomTestStringConvertible {
        var stored: [String: String]? = stale
        var method = "GET"
        let status: Int
        var fields: [String: String] = [:]
        let decision: String
        var isRecorded = false

        var testDescription: String { "\(status) \(fields) to \(method): \(decision)" }
    }

    private static let tolerant = ["Cache-Control": "max-age=1, stale-if-error=100", "ETag": "\"1\""]

    @Test(
        "an answer on its way back",
        arguments: [
            InwardRow(status: 304, fields: ["ETag": "\"1\""], decision: "answer from revalidation"),
            InwardRow(status: 304, fields: ["ETag": "\"2\""], decision: "again GET http://a.test/"),
            InwardRow(status: 200, fields: ["Cache-Control": "max-age=5"], decision: "pass", isRecorded: true),
            InwardRow(status: 200, fields: ["Cache-Control": "no-store"], decision: "pass"),
            InwardRow(status: 503, decision: "pass"),
            InwardRow(stored: tolerant, status: 503, decision: "answer from cache"),
            InwardRow(stored: tolerant, status: 501, decision: "pass"),
            InwardRow(
                stored: nil, status: 200, fields: ["Cache-Control": "max-age=5"], decision: "pass",
                isRecorded: true),
            InwardRow(
                stored: nil, method: "POST", status: 200, fields: ["Cache-Control": "max-age=5"], decision: "pass"),
        ])
    func inward(row: InwardRow) async {
        let link = CacheLink(cache: Self.cache(row.stored))
        let host = StubHost()
        var exchange = ChainContext(OutgoingMessage(Self.url, method: row.method))
        let sent = link.send(&exchange, for: host)
        (_, exchange) = await sent.settled(exchange)
        let decision = link.receive(ResponseHead(row.status, row.fields), in: &exchange, for: host)
        #expect(await decision.summary(exchange) == row.decision)
        #expect((exchange.recorder != nil) == row.isRecorded)
    }

    @Test(
        "a failure: a stale response stands in where the server allowed that, and only for failures of the network",
        arguments: [
            (tolerant, URLError.Code.cannotConnectToHost, "answer from cache"),
            (tolerant, .serverCertificateUntrusted, "pass"), (stale, .cannotConnectToHost, "pass"),
        ])
    func failure(stored: [String: String], code: URLError.Code, expected: String) async {
        let link = CacheLink(cache: Self.cache(stored))
        let host = StubHost()
        var exchange = ChainContext(OutgoingMessage(Self.url))
        let sent = link.send(&exchange, for: host)
        (_, exchange) = await sent.settled(exchange)
        let failure = TransferFailure.exchange(code, detail: "", engineCode: 0)
        let recovery = link.ended(.failed(failure), of: exchange, for: host)
        #expect(recovery.summary == expected)
    }

    @Test("without a cache only the policy that never loads has a meaning")
    func noCache() async {
        let link = CacheLink(cache: nil)
        var exchange = ChainContext(OutgoingMessage(Self.url))
        let plain = link.send(&exchange, for: StubHost())
        #expect(await plain.summary(exchange) == "pass")
        let offline = link.send(&exchange, for: StubHost(cachePolicy: .returnCacheDataDontLoad))
        #expect(await offline.summary(exchange) == "later fail -1008")
    }
}
