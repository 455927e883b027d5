// RFC 9111 §4.2.4, §5.2, §5.4; RFC 8246: what requests and responses say about reuse.

import Foundation
import FoundationNetworking

extension CacheTable {
    static let directives: [CacheCase] = requests + responses

    private static let brief = "Cache-Control: max-age=10"

    private static func wish(_ text: String) -> [String: String] { ["Cache-Control": text] }

    private static let requests: [CacheCase] = [
        CacheCase(
            "5.2.1.1", "max-age of the request: young enough", [.ok("one", fresh)],
            [.network("one"), .cache("one", after: 5, wish("max-age=5"))]),
        CacheCase(
            "5.2.1.1", "max-age of the request: too old", [.ok("one", fresh), .ok("two")],
            [.network("one"), .network("two", after: 6, wish("max-age=5"))]),
        CacheCase(
            "5.2.1.1", "max-age=0 of the request validates", [.ok("one", fresh, "ETag: \"a\""), .notModified()],
            [.network("one"), .validated("one", after: 1, wish("max-age=0"))]),
        CacheCase(
            "5.2.1.1", "a max-age that is no number takes nothing from the cache",
            [.ok("one", fresh, "ETag: \"a\""), .notModified()],
            [.network("one"), .validated("one", after: 1, wish("max-age=x"))]),
        CacheCase(
            "5.2.1.1", "max-age of the request does not make stale fresh", [.ok("one", brief), .ok("two")],
            [.network("one"), .network("two", after: 11, wish("max-age=100"))]),
        CacheCase(
            "5.2.1.2", "max-stale takes anything stale", [.ok("one", brief)],
            [.network("one"), .cache("one", after: 1000, wish("max-stale"))]),
        CacheCase(
            "5.2.1.2", "max-stale with seconds: stale for less", [.ok("one", brief)],
            [.network("one"), .cache("one", after: 15, wish("max-stale=5"))]),
        CacheCase(
            "5.2.1.2", "max-stale with seconds: stale for longer", [.ok("one", brief), .ok("two")],
            [.network("one"), .network("two", after: 16, wish("max-stale=5"))]),
        CacheCase(
            "5.2.1.2", "a max-stale that is no number takes nothing stale", [.ok("one", brief), .ok("two")],
            [.network("one"), .network("two", after: 11, wish("max-stale=x"))]),
        CacheCase(
            "5.2.1.2", "max-age and max-stale together", [.ok("one", brief), .ok("two")],
            [
                .network("one"), .cache("one", after: 15, wish("max-age=20, max-stale=10")),
                .network("two", after: 6, wish("max-age=20, max-stale=100")),
            ]),
        CacheCase(
            "5.2.1.3", "min-fresh: fresh for long enough", [.ok("one", fresh)],
            [.network("one"), .cache("one", after: 30, wish("min-fresh=30"))]),
        CacheCase(
            "5.2.1.3", "min-fresh: not fresh for long enough", [.ok("one", fresh), .ok("two")],
            [.network("one"), .network("two", after: 31, wish("min-fresh=30"))]),
        CacheCase(
            "5.2.1.4", "no-cache of the request validates", [.ok("one", fresh, "ETag: \"a\""), .notModified()],
            [.network("one"), .validated("one", wish("no-cache"))]),
        CacheCase(
            "5.4", "Pragma: no-cache means the same without Cache-Control",
            [.ok("one", fresh, "ETag: \"a\""), .notModified()],
            [.network("one"), .validated("one", ["Pragma": "no-cache"])]),
        CacheCase(
            "5.4", "Pragma does not count beside Cache-Control", [.ok("one", fresh)],
            [.network("one"), .cache("one", ["Pragma": "no-cache", "Cache-Control": "max-age=60"])]),
        CacheCase(
            "5.2.1.5", "no-store of the request leaves what is stored", [.ok("one", fresh)],
            [.network("one"), .cache("one", wish("no-store"))]),
        CacheCase(
            "5.2.1.7", "only-if-cached: what is stored", [.ok("one", fresh)],
            [.network("one"), .cache("one", wish("only-if-cached"))]),
        CacheCase(
            "5.2.1.7", "only-if-cached: 504 without anything stored", [],
            [.notSent(wish("only-if-cached"))]),
        CacheCase(
            "5.2.1.7", "only-if-cached: 504 when it is stale", [.ok("one", brief)],
            [.network("one"), .notSent(after: 11, wish("only-if-cached"))]),
        CacheCase(
            "5.2.1.7", "only-if-cached with max-stale", [.ok("one", brief)],
            [.network("one"), .cache("one", after: 11, wish("only-if-cached, max-stale"))]),
        CacheCase(
            "5.2.3", "an unknown directive changes nothing", [.ok("one", fresh)],
            [.network("one"), .cache("one", wish("frobnicate=1"))]),
    ]

    private static let responses: [CacheCase] = [
        CacheCase(
            "4.2.4", "nothing stale is used without leave", [.ok("one", brief), .ok("two")],
            [.network("one"), .network("two", after: 11)]),
        CacheCase(
            "4.2.4", "nothing stale is used when the origin cannot be reached", [.ok("one", brief), .raw("")],
            [.network("one"), .fails(.networkConnectionLost, after: 11)]),
        CacheCase(
            "5.2.2.4", "no-cache is validated each time",
            [.ok("one", "Cache-Control: no-cache", "ETag: \"a\""), .notModified(), .notModified()],
            [.network("one"), .validated("one"), .validated("one")]),
        CacheCase(
            "5.2.2.4", "no-cache with a field name is validated as well",
            [.ok("one", "Cache-Control: max-age=60, no-cache=\"Set-Cookie\"", "ETag: \"a\""), .notModified()],
            [.network("one"), .validated("one")]),
        CacheCase(
            "5.2.2.4", "no-cache wins over max-stale",
            [.ok("one", "Cache-Control: no-cache", "ETag: \"a\""), .notModified()],
            [.network("one"), .validated("one", wish("max-stale"))]),
        CacheCase(
            "5.2.2.2", "must-revalidate is used while fresh",
            [.ok("one", "Cache-Control: max-age=60, must-revalidate")],
            [.network("one"), .cache("one", after: 59)]),
        CacheCase(
            "5.2.2.2", "must-revalidate wins over max-stale",
            [.ok("one", "Cache-Control: max-age=10, must-revalidate", "ETag: \"a\""), .notModified()],
            [.network("one"), .validated("one", after: 11, wish("max-stale"))]),
        CacheCase(
            "5.2.2.10", "proxy-revalidate is for shared caches",
            [.ok("one", "Cache-Control: max-age=10, proxy-revalidate")],
            [.network("one"), .cache("one", after: 11, wish("max-stale"))]),
        CacheCase(
            "5.2.2.6", "no-transform does not matter here", [.ok("one", "Cache-Control: max-age=60, no-transform")],
            [.network("one"), .cache("one")]),
        CacheCase(
            "5.4", "Pragma in a response means nothing", [.ok("one", fresh, "Pragma: no-cache")],
            [.network("one"), .cache("one")]),
        CacheCase(
            "RFC 8246 2", "immutable does not outlive its freshness",
            [.ok("one", "Cache-Control: max-age=10, immutable", "ETag: \"a\""), .notModified()],
            [.network("one"), .validated("one", after: 11)]),
        CacheCase(
            "RFC 8246 2", "immutable is not validated on a reload while it is fresh",
            [.ok("one", "Cache-Control: max-age=10, immutable", "ETag: \"a\"")],
            [.network("one"), Ask.cache("one", after: 9).with(.reloadRevalidatingCacheData)]),
        CacheCase(
            "RFC 8246 2", "immutable is validated on a reload when it is stale",
            [.ok("one", "Cache-Control: max-age=10, immutable", "ETag: \"a\""), .notModified()],
            [.network("one"), Ask.validated("one", after: 11).with(.reloadRevalidatingCacheData)]),
    ]
}
