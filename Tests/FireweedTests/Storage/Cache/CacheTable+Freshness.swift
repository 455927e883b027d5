// RFC 9111 §4.2, §5.1, §5.3: how long a response is fresh, and how old it is.

import Foundation

extension CacheTable {
    static let freshness: [CacheCase] = lifetimes + numbers + dates + heuristics + ages

    private static let lifetimes: [CacheCase] = [
        CacheCase(
            "4.2", "fresh while the lifetime exceeds the age", [.ok("one", fresh), .ok("two")],
            [.network("one"), .cache("one", after: 59), .network("two", after: 1)]),
        CacheCase(
            "4.2.1", "max-age wins over Expires", [.ok("one", fresh, "Expires: \(CacheCase.date(-100))")],
            [.network("one"), .cache("one", after: 59)]),
        CacheCase(
            "4.2.1", "a small max-age wins over a late Expires",
            [.ok("one", "Cache-Control: max-age=1", "Expires: \(CacheCase.date(1000))"), .ok("two")],
            [.network("one"), .network("two", after: 2)]),
        CacheCase(
            "5.2.2.8", "s-maxage is for shared caches", [.ok("one", "Cache-Control: s-maxage=1, max-age=60")],
            [.network("one"), .cache("one", after: 30)]),
        CacheCase(
            "5.2.2.8", "s-maxage alone makes nothing fresh here",
            [.ok("one", "Cache-Control: s-maxage=60", "ETag: \"1\""), .notModified()],
            [.network("one"), .validated("one", after: 1)]),
        CacheCase(
            "5.3", "Expires is counted from Date",
            [.ok("one", "Date: \(CacheCase.date(0))", "Expires: \(CacheCase.date(60))"), .ok("two")],
            [.network("one"), .cache("one", after: 59), .network("two", after: 1)]),
        CacheCase(
            "5.3", "Expires without Date is counted from when it came",
            [.ok("one", "Expires: \(CacheCase.date(60))"), .ok("two")],
            [.network("one"), .cache("one", after: 59), .network("two", after: 1)]),
        CacheCase(
            "5.3", "an origin whose clock is behind: Expires minus Date counts",
            [
                .ok("one", "Date: \(CacheCase.date(-3600))", "Expires: \(CacheCase.date(-3000))", "ETag: \"1\""),
                .notModified(),
            ],
            [.network("one"), .validated("one")]),
        CacheCase(
            "5.3", "Expires of the past is stale",
            [.ok("one", "Expires: \(CacheCase.date(-1))", "ETag: \"1\""), .notModified()],
            [.network("one"), .validated("one")]),
        CacheCase(
            "5.3", "Expires equal to Date is stale",
            [.ok("one", "Date: \(CacheCase.date(0))", "Expires: \(CacheCase.date(0))", "ETag: \"1\""), .notModified()],
            [.network("one"), .validated("one")]),
    ]

    /// What a number may look like (§1.2.2, §4.2.1, §5.2).
    private static let numbers: [CacheCase] =
        [
            "max-age=0", "max-age=abc", "max-age=-1", "max-age=1.5", "max-age=", "max-age", "max-age=60 seconds",
            "max-age=0, max-age=60", "no-cache, max-age=60", "max-age =60", "max-age= 60",
        ].map { text in
            CacheCase(
                "4.2.1", "\"\(text)\" is stale at once",
                [.ok("one", "Cache-Control: \(text)", "ETag: \"1\""), .notModified()],
                [.network("one"), .validated("one", after: 1)])
        }
        + [
            "MAX-AGE=60", "max-age=\"60\"", "public , max-age=60", ",, max-age=60,", "max-age=60, max-age=0",
            "foo=bar, max-age=60", "foo=\"a, max-age=0\", max-age=60", "max-age=060", "max-age=99999999999999999999",
        ].map { text in
            CacheCase(
                "5.2", "\"\(text)\" is fresh after 59 seconds", [.ok("one", "Cache-Control: \(text)")],
                [.network("one"), .cache("one", after: 59)])
        }
        + [
            CacheCase(
                "5.2", "several Cache-Control fields are one list",
                [.ok("one", "Cache-Control: public", "Cache-Control: max-age=60")],
                [.network("one"), .cache("one", after: 59)]),
            CacheCase(
                "1.2.2", "what is too large is about 68 years",
                [.ok("one", "Cache-Control: max-age=99999999999999999999", "ETag: \"1\""), .notModified()],
                [.network("one"), .cache("one", after: 2_147_483_000), .validated("one", after: 1000)]),
        ]

    private static let dates: [CacheCase] =
        [
            ("IMF-fixdate", CacheCase.date(60)),
            ("the form of RFC 850", CacheCase.date(60, "EEEE, dd-MMM-yy HH:mm:ss 'GMT'")),
            ("the form of asctime", CacheCase.date(60, "EEE MMM  d HH:mm:ss yyyy")),
            ("lower case", CacheCase.date(60).lowercased()),
        ].map { name, text in
            CacheCase(
                "5.3", "Expires in \(name)", [.ok("one", "Expires: \(text)"), .ok("two")],
                [.network("one"), .cache("one", after: 59), .network("two", after: 1)])
        }
        + [
            "0", "-1", "never", CacheCase.date(60).replacingOccurrences(of: " GMT", with: "  GMT"),
            CacheCase.date(60).replacingOccurrences(of: ", ", with: ",  "), "Sat, 99 Nov 2099 00:00:00 GMT",
            "\(CacheCase.date(60)), \(CacheCase.date(60))",
        ].map {
            text in
            CacheCase(
                "5.3", "Expires \"\(text)\" is of the past",
                [.ok("one", "Expires: \(text)", "ETag: \"1\""), .notModified()],
                [.network("one"), .validated("one")])
        }

    private static let heuristics: [CacheCase] = [
        CacheCase(
            "4.2.2", "a guess is a tenth of the time since the last change",
            [.ok("one", "Last-Modified: \(CacheCase.date(-1000))"), .notModified()],
            [.network("one"), .cache("one", after: 99), .validated("one", after: 1)]),
        CacheCase(
            "4.2.2", "a guess counts from Date",
            [.ok("one", "Date: \(CacheCase.date(-50))", "Last-Modified: \(CacheCase.date(-1050))"), .notModified()],
            [.network("one"), .cache("one", after: 49), .validated("one", after: 1)]),
        CacheCase(
            "4.2.2", "no guess is longer than a week",
            [.ok("one", "Last-Modified: \(CacheCase.date(-100_000_000))"), .notModified()],
            [.network("one"), .cache("one", after: 7 * 86_400 - 1), .validated("one", after: 1)]),
        CacheCase(
            "4.2.2", "a change in the future is no reason to guess",
            [.ok("one", "Last-Modified: \(CacheCase.date(1000))"), .notModified()],
            [.network("one"), .validated("one")]),
        CacheCase(
            "4.2.2", "an ETag alone is no reason to guess", [.ok("one", "ETag: \"1\""), .notModified()],
            [.network("one"), .validated("one")]),
        CacheCase(
            "4.2.2", "nothing is guessed when max-age is there",
            [.ok("one", "Cache-Control: max-age=1", "Last-Modified: \(CacheCase.date(-1000))"), .notModified()],
            [.network("one"), .validated("one", after: 2)]),
        CacheCase(
            "4.2.2", "nothing is guessed when Expires is there",
            [.ok("one", "Expires: 0", "Last-Modified: \(CacheCase.date(-1000))"), .notModified()],
            [.network("one"), .validated("one", after: 2)]),
        CacheCase(
            "4.2.2", "public lets a guess be made about any status",
            [Answer(302, ["Cache-Control: public", "Last-Modified: \(CacheCase.date(-1000))"], "one")],
            [.network("one", status: 302), .cache("one", after: 99, status: 302)]),
    ]

    private static let ages: [CacheCase] = [
        CacheCase(
            "5.1", "what the cache answers says how old it is", [.ok("one", fresh)],
            [.network("one", shows: ["Age": nil]), .cache("one", after: 30, shows: ["Age": "30"])]),
        CacheCase(
            "4.2.3", "Age is added to the time since", [.ok("one", fresh, "Age: 40"), .ok("two")],
            [.network("one"), .cache("one", after: 19, shows: ["Age": "59"]), .network("two", after: 1)]),
        CacheCase(
            "4.2.3", "Age beyond the lifetime is stale at once",
            [.ok("one", fresh, "Age: 61", "ETag: \"1\""), .notModified()],
            [.network("one"), .validated("one")]),
        CacheCase(
            "4.2.3", "an old Date counts as age", [.ok("one", fresh, "Date: \(CacheCase.date(-50))"), .ok("two")],
            [.network("one"), .cache("one", after: 9, shows: ["Age": "59"]), .network("two", after: 1)]),
        CacheCase(
            "4.2.3", "of Age and Date, the larger one counts",
            [.ok("one", fresh, "Date: \(CacheCase.date(-10))", "Age: 50"), .ok("two")],
            [.network("one"), .cache("one", after: 9, shows: ["Age": "59"]), .network("two", after: 1)]),
        CacheCase(
            "4.2.3", "a Date in the future makes nothing younger",
            [.ok("one", fresh, "Date: \(CacheCase.date(1000))"), .ok("two")],
            [.network("one"), .cache("one", after: 59), .network("two", after: 1)]),
        CacheCase(
            "5.1", "an Age that is no number does not count", [.ok("one", fresh, "Age: old")],
            [.network("one"), .cache("one", after: 59, shows: ["Age": "59"])]),
        CacheCase(
            "5.1", "a negative Age does not count", [.ok("one", fresh, "Age: -60")],
            [.network("one"), .cache("one", after: 59, shows: ["Age": "59"])]),
        CacheCase(
            "5.1", "of several Age values the first counts", [.ok("one", fresh, "Age: 10, 100")],
            [.network("one"), .cache("one", after: 5, shows: ["Age": "15"])]),
        CacheCase(
            "5.1", "of several Age fields the first counts", [.ok("one", fresh, "Age: 10", "Age: 100")],
            [.network("one"), .cache("one", after: 5, shows: ["Age": "15"])]),
        CacheCase(
            "RFC 9110 6.6.1", "a response without Date gets the one of its arrival", [.ok("one", fresh)],
            [.network("one"), .cache("one", after: 5, shows: ["Date": CacheCase.date(0)])]),
    ]
}
