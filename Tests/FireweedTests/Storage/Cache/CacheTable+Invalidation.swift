// RFC 9111 §4.4: what a change at the origin makes of stored responses.

extension CacheTable {
    static let invalidation: [CacheCase] = methods + statuses + places

    /// GET, then the method, then GET again, which reaches the origin when the method `ends` what was stored.
    private static func change(
        _ section: String, _ rule: String, _ method: String, _ answer: Answer, status: Int = 200, content: String = "",
        ends: Bool
    ) -> CacheCase {
        CacheCase(
            section, rule, [.ok("one", fresh), answer] + (ends ? [.ok("two", fresh)] : []),
            [
                .network("one"), .network(content, method: method, status: status),
                ends ? .network("two") : .cache("one"),
            ])
    }

    private static let methods: [CacheCase] =
        ["POST", "PUT", "DELETE", "PATCH", "FROBNICATE"].map { method in
            change("4.4", "\(method) ends what is stored for its target", method, .ok("", "X: 1"), ends: true)
        }
        + ["OPTIONS"].map { method in
            change("4.4", "\(method) is safe and ends nothing", method, .ok("", "X: 1"), ends: false)
        }

    private static let statuses: [CacheCase] =
        [201, 204, 303].map { status in
            change("4.4", "\(status) to POST ends it", "POST", Answer(status), status: status, ends: true)
        }
        + [400, 403, 409, 500, 503].map { status in
            change("4.4", "\(status) to POST ends nothing", "POST", Answer(status), status: status, ends: false)
        }

    private static let places: [CacheCase] = [
        CacheCase(
            "4.4", "Location of the same origin is no good either",
            [.ok("one", fresh), Answer(201, ["Location: /a"]), .ok("two")],
            [
                .network("one", path: "/a"), .network("", method: "POST", status: 201, path: "/b"),
                .network("two", path: "/a"),
            ]),
        CacheCase(
            "4.4", "Location with escapes, and characters that a URL may not hold",
            [.ok("one", fresh), Answer(201, ["Location: /s?f[n]=a%20b"]), .ok("two")],
            [
                .network("one", path: "/s?f%5Bn%5D=a%20b"), .network("", method: "POST", status: 201, path: "/b"),
                .network("two", path: "/s?f%5Bn%5D=a%20b"),
            ]),
        CacheCase(
            "4.4", "Content-Location of the same origin is no good either",
            [.ok("one", fresh), .ok("", "Content-Location: /a"), .ok("two")],
            [.network("one", path: "/a"), .network("", method: "PUT", path: "/b"), .network("two", path: "/a")]),
        CacheCase(
            "4.4", "Location of another origin is left alone",
            [.ok("one", fresh), Answer(201, ["Location: http://other.example/a"])],
            [
                .network("one", path: "/a"), .network("", method: "POST", status: 201, path: "/b"),
                .cache("one", path: "/a"),
            ]),
        CacheCase(
            "4.4", "another path is left alone", [.ok("one", fresh), .ok("", "X: 1")],
            [.network("one", path: "/a"), .network("", method: "POST", path: "/b"), .cache("one", path: "/a")]),
        CacheCase(
            "4.4", "every variant ends",
            [.ok("one", fresh, "Vary: X-Kind"), .ok("two", fresh, "Vary: X-Kind"), .ok(""), .ok("three"), .ok("four")],
            [
                .network("one", ["X-Kind": "a"]), .network("two", ["X-Kind": "b"]), .network("", method: "DELETE"),
                .network("three", ["X-Kind": "a"]), .network("four", ["X-Kind": "b"]),
            ], needsVariants: true),
    ]
}
