// RFC 5861: stale responses while the origin is asked, and when it fails.

extension CacheTable {
    static let tolerance: [CacheCase] = behind + errors

    private static let window = "Cache-Control: max-age=10, stale-while-revalidate=30"
    private static let spare = "Cache-Control: max-age=10, stale-if-error=30"

    private static let behind: [CacheCase] = [
        CacheCase(
            "RFC 5861 3", "stale within the window answers at once, and the new one comes behind it",
            [.ok("one", window), .ok("two", fresh)], [.network("one"), .cache("one", after: 15), .eventually("two")]),
        CacheCase(
            "RFC 5861 3", "a 304 behind the answer makes it fresh again",
            [.ok("one", window, "ETag: \"a\""), .notModified("Cache-Control: max-age=100")],
            [.network("one"), .cache("one", after: 15), .eventually("one"), .cache("one", after: 90)]),
        CacheCase(
            "RFC 5861 3", "beyond the window it is validated first",
            [.ok("one", window, "ETag: \"a\""), .notModified()],
            [.network("one"), .validated("one", after: 41)]),
        CacheCase(
            "RFC 5861 3", "while it is fresh nothing is asked", [.ok("one", window)],
            [.network("one"), .cache("one", after: 9)]),
        CacheCase(
            "RFC 5861 3", "must-revalidate wins",
            [.ok("one", "\(window), must-revalidate", "ETag: \"a\""), .notModified()],
            [.network("one"), .validated("one", after: 15)]),
        CacheCase(
            "RFC 5861 3", "no-cache of the request wins", [.ok("one", window, "ETag: \"a\""), .notModified()],
            [.network("one"), .validated("one", after: 15, ["Cache-Control": "no-cache"])]),
        CacheCase(
            "RFC 5861 3", "max-age of the request wins", [.ok("one", window, "ETag: \"a\""), .notModified()],
            [.network("one"), .validated("one", after: 15, ["Cache-Control": "max-age=60"])]),
        CacheCase(
            "RFC 5861 3", "a window that is no number is none",
            [.ok("one", "Cache-Control: max-age=10, stale-while-revalidate=x", "ETag: \"a\""), .notModified()],
            [.network("one"), .validated("one", after: 11)]),
    ]

    private static let errors: [CacheCase] =
        [500, 502, 503, 504].map { status in
            CacheCase(
                "RFC 5861 4", "stale-if-error: \(status) is not seen", [.ok("one", spare), Answer(status, [], "down")],
                [.network("one"), .cache("one", after: 15, shows: ["Age": "15"])])
        }
        + [400, 404, 501].map { status in
            CacheCase(
                "RFC 5861 4", "stale-if-error: \(status) is no such error",
                [.ok("one", spare), Answer(status, [], "no")],
                [.network("one"), .network("no", after: 15, status: status)])
        } + [
            CacheCase(
                "RFC 5861 4", "stale-if-error: the origin cannot be reached", [.ok("one", spare), .raw("")],
                [.network("one"), .cache("one", after: 15)]),
            CacheCase(
                "RFC 5861 4", "stale-if-error: beyond its seconds", [.ok("one", spare), Answer(503, [], "down")],
                [.network("one"), .network("down", after: 41, status: 503)]),
            CacheCase(
                "RFC 5861 4", "stale-if-error of the request",
                [.ok("one", "Cache-Control: max-age=10"), Answer(503, [], "down")],
                [.network("one"), .cache("one", after: 15, ["Cache-Control": "stale-if-error=30"])]),
            CacheCase(
                "5.2.1.4", "no-cache of the request wins over stale-if-error of either",
                [.ok("one", spare), Answer(503, [], "down")],
                [
                    .network("one"),
                    .network("down", after: 15, ["Cache-Control": "no-cache, stale-if-error=30"], status: 503),
                ]),
            CacheCase(
                "RFC 5861 4", "stale-if-error: without an error the new one counts", [.ok("one", spare), .ok("two")],
                [.network("one"), .network("two", after: 15)]),
            CacheCase(
                "RFC 5861 4", "stale-if-error: the origin is asked again the next time",
                [.ok("one", spare), Answer(503, [], "down"), .ok("two")],
                [.network("one"), .cache("one", after: 15), .network("two")]),
            CacheCase(
                "5.2.2.2", "must-revalidate wins over stale-if-error",
                [.ok("one", "\(spare), must-revalidate"), Answer(503, [], "down")],
                [.network("one"), .network("down", after: 15, status: 503)]),
            CacheCase(
                "RFC 5861 4", "an error with much content does not keep the answer waiting",
                [.ok("one", spare), Answer(503, [], String(repeating: "down", count: 100_000))],
                [.network("one"), .cache("one", after: 15)]),
        ]
}
