// RFC 9111 §4.3, RFC 9110 §13: asking whether a stored response is still good.

extension CacheTable {
    static let validation: [CacheCase] = conditions + confirmations + own + heads

    private static let stale = "Cache-Control: max-age=10"
    private static let modified = "Last-Modified: \(CacheCase.date(-1000))"

    private static let conditions: [CacheCase] = [
        CacheCase(
            "4.3.1", "an ETag is asked about with If-None-Match", [.ok("one", stale, "ETag: \"a\""), .notModified()],
            [
                .network("one", omits: ["If-None-Match"]),
                .validated("one", after: 11, sends: ["If-None-Match: \"a\""], omits: ["If-Modified-Since"]),
            ]),
        CacheCase(
            "4.3.1", "a weak ETag is asked about as it is", [.ok("one", stale, "ETag: W/\"a\""), .notModified()],
            [.network("one"), .validated("one", after: 11, sends: ["If-None-Match: W/\"a\""])]),
        CacheCase(
            "4.3.1", "Last-Modified is asked about with If-Modified-Since",
            [.ok("one", stale, modified), .notModified()],
            [
                .network("one"),
                .validated(
                    "one", after: 11, sends: ["If-Modified-Since: \(CacheCase.date(-1000))"], omits: ["If-None-Match"]),
            ]),
        CacheCase(
            "4.3.1", "both validators are sent", [.ok("one", stale, modified, "ETag: \"a\""), .notModified()],
            [
                .network("one"),
                .validated(
                    "one", after: 11,
                    sends: ["If-None-Match: \"a\"", "If-Modified-Since: \(CacheCase.date(-1000))"]),
            ]),
        CacheCase(
            "4.3.1", "without a validator the whole is asked for", [.ok("one", stale), .ok("two", stale)],
            [
                .network("one"), .network("two", after: 11, omits: ["If-None-Match", "If-Modified-Since"]),
                .cache("two"),
            ]),
        CacheCase(
            "4.3.1", "a validator that cannot be sent is not used",
            [.ok("one", stale, "ETag: \"a\u{1}\""), .ok("two", stale)],
            [
                .network("one"), .network("two", after: 11, omits: ["If-None-Match", "If-Modified-Since"]),
                .cache("two"),
            ]),
        CacheCase(
            "4.3.1", "beside a validator that cannot be sent the other one is used",
            [.ok("one", stale, modified, "ETag: \"\u{7F}\""), .notModified()],
            [
                .network("one"),
                .validated(
                    "one", after: 11, sends: ["If-Modified-Since: \(CacheCase.date(-1000))"], omits: ["If-None-Match"]),
            ]),
        CacheCase(
            "4.3.1", "a condition keeps the request's other fields",
            [.ok("one", stale, "ETag: \"a\""), .notModified()],
            [.network("one", ["X-A": "1"]), .validated("one", after: 11, ["X-A": "1"], sends: ["X-A: 1"])]),
    ]

    private static let confirmations: [CacheCase] = [
        CacheCase(
            "4.3.3", "a 304 makes the stored response fresh again",
            [.ok("one", stale, "ETag: \"a\""), .notModified(stale)],
            [.network("one"), .validated("one", after: 11), .cache("one", after: 9)]),
        CacheCase(
            "4.3.3", "after a 304 it is stale again in its time",
            [.ok("one", stale, "ETag: \"a\""), .notModified(), .notModified()],
            [.network("one"), .validated("one", after: 11), .validated("one", after: 10)]),
        CacheCase(
            "4.3.3", "a 200 takes the stored response's place",
            [.ok("one", stale, "ETag: \"a\""), .ok("two", stale, "ETag: \"b\""), .notModified()],
            [
                .network("one"), .network("two", after: 11), .cache("two", after: 5),
                .validated("two", after: 5, sends: ["If-None-Match: \"b\""]),
            ]),
        CacheCase(
            "4.3.3", "a 200 that is not stored ends the stored response",
            [.ok("one", stale, "ETag: \"a\""), .ok("two", "Cache-Control: no-store"), .ok("three")],
            [.network("one"), .network("two", after: 11), .network("three", omits: ["If-None-Match"])]),
        CacheCase(
            "4.3.3", "an error of the origin is handed on",
            [.ok("one", stale, "ETag: \"a\""), Answer(503, [], "down"), .notModified()],
            [.network("one"), .network("down", after: 11, status: 503), .validated("one")]),
        CacheCase(
            "4.3.3", "404 is handed on", [.ok("one", stale, "ETag: \"a\""), Answer(404, [], "gone")],
            [.network("one"), .network("gone", after: 11, status: 404)]),
        CacheCase(
            "3.2", "fields of the 304 replace those stored",
            [.ok("one", stale, "ETag: \"a\"", "X-A: old", "X-B: old"), .notModified(stale, "X-A: new")],
            [
                .network("one"), .validated("one", after: 11, shows: ["X-A": "new", "X-B": "old"]),
                .cache("one", shows: ["X-A": "new", "X-B": "old"]),
            ]),
        CacheCase(
            "3.2", "a longer max-age of the 304 counts",
            [.ok("one", stale, "ETag: \"a\""), .notModified("Cache-Control: max-age=100")],
            [.network("one"), .validated("one", after: 11), .cache("one", after: 99)]),
        CacheCase(
            "3.2", "no-cache of the 304 counts",
            [.ok("one", stale, "ETag: \"a\""), .notModified("Cache-Control: no-cache"), .notModified()],
            [.network("one"), .validated("one", after: 11), .validated("one")]),
        CacheCase(
            "5.2.2.5", "no-store of the 304 ends the stored response",
            [.ok("one", stale, "ETag: \"a\""), .notModified("Cache-Control: no-store"), .ok("two")],
            [.network("one"), .validated("one", after: 11), .network("two", omits: ["If-None-Match"])]),
        CacheCase(
            "3.2", "Content-Length of the 304 does not count",
            [.ok("one", stale, "ETag: \"a\""), .notModified("Content-Length: 999")],
            [.network("one"), .validated("one", after: 11, shows: ["Content-Length": "3"])]),
        CacheCase(
            "3.2", "what describes the content stays as it was",
            [
                .ok("one", stale, "ETag: \"a\"", "Content-Type: text/plain"),
                .notModified("Content-Type: text/html", "Content-Encoding: gzip"),
            ],
            [
                .network("one"),
                .validated("one", after: 11, shows: ["Content-Type": "text/plain", "Content-Encoding": nil]),
            ]),
        CacheCase(
            "3.2", "fields of the connection do not get in by a 304",
            [.ok("one", stale, "ETag: \"a\""), .notModified("Connection: X-Hop", "X-Hop: 1")],
            [.network("one"), .validated("one", after: 11, shows: ["X-Hop": nil])]),
        CacheCase(
            "4.2.3", "an Age that the 304 does not repeat is forgotten",
            [.ok("one", stale, "ETag: \"a\"", "Age: 9"), .notModified()],
            [.network("one"), .validated("one", after: 11), .cache("one", after: 9, shows: ["Age": "9"])]),
        CacheCase(
            "4.3.4", "a 304 about another ETag is no answer: the whole is asked for",
            [.ok("one", stale, "ETag: \"a\""), .notModified("ETag: \"b\""), .ok("two", "ETag: \"b\"")],
            [.network("one"), .network("two", after: 11, omits: [])]),
        CacheCase(
            "4.3.4", "a 304 with a weak ETag matches by its text",
            [.ok("one", stale, "ETag: \"a\""), .notModified("ETag: W/\"a\"")],
            [.network("one"), .validated("one", after: 11)]),
        CacheCase(
            "4.3.4", "a 304 about another Last-Modified is no answer",
            [.ok("one", stale, modified), .notModified("Last-Modified: \(CacheCase.date(-5))"), .ok("two")],
            [.network("one"), .network("two", after: 11)]),
    ]

    private static let own: [CacheCase] = [
        CacheCase(
            "4.3.2", "the client's own If-None-Match gets the origin's 304",
            [.ok("one", fresh, "ETag: \"a\""), .notModified("ETag: \"a\"")],
            [
                .network("one"),
                .network("", ["If-None-Match": "\"a\""], status: 304, sends: ["If-None-Match: \"a\""]), .cache("one"),
            ]),
        CacheCase(
            "4.3.4", "a 304 to the client's own question freshens what a strong ETag names",
            [.ok("one", stale, "ETag: \"a\""), .notModified("ETag: \"a\"", stale)],
            [
                .network("one"), .network("", after: 11, ["If-None-Match": "\"a\""], status: 304),
                .cache("one", after: 5),
            ]),
        CacheCase(
            "4.3.4", "a 304 to the client's own question with a weak ETag freshens nothing",
            [.ok("one", stale, "ETag: W/\"a\""), .notModified("ETag: W/\"a\"", stale), .notModified()],
            [.network("one"), .network("", after: 11, ["If-None-Match": "W/\"a\""], status: 304), .validated("one")]),
        CacheCase(
            "4.3.2", "the client's own If-Modified-Since goes to the origin",
            [.ok("one", fresh, modified), .notModified()],
            [.network("one"), .network("", ["If-Modified-Since": CacheCase.date(-1000)], status: 304), .cache("one")]),
        CacheCase(
            "RFC 9110 13.1.1", "If-Match goes to the origin", [.ok("one", fresh), Answer(412, [], "no")],
            [.network("one"), .network("no", ["If-Match": "\"b\""], status: 412), .cache("one")]),
        CacheCase(
            "RFC 9110 13.1.5", "If-Range goes to the origin", [.ok("one", fresh), .ok("two", fresh)],
            [.network("one"), .network("two", ["Range": "bytes=0-", "If-Range": "\"b\""]), .cache("two")]),
    ]

    private static let heads: [CacheCase] = [
        CacheCase(
            "4", "what GET stored answers HEAD", [.ok("one", fresh, "X-A: 1")],
            [.network("one"), .cache("", method: "HEAD", shows: ["X-A": "1", "Content-Length": "3"])]),
        CacheCase(
            "4.3.5", "HEAD freshens what GET stored",
            [.ok("one", stale, "ETag: \"a\""), .head("ETag: \"a\"", stale, "Content-Length: 3", "X-A: new")],
            [
                .network("one"), .network("", after: 9, ["Cache-Control": "no-cache"], method: "HEAD"),
                .cache("one", after: 9, shows: ["X-A": "new"]),
            ]),
        CacheCase(
            "4.3.5", "HEAD about another ETag ends what GET stored",
            [.ok("one", fresh, "ETag: \"a\""), .head("ETag: \"b\""), .ok("two")],
            [.network("one"), .network("", ["Cache-Control": "no-cache"], method: "HEAD"), .network("two")]),
        CacheCase(
            "4.3.5", "HEAD with another Content-Length ends what GET stored",
            [.ok("one", fresh), .head("Content-Length: 999"), .ok("two")],
            [.network("one"), .network("", ["Cache-Control": "no-cache"], method: "HEAD"), .network("two")]),
        CacheCase(
            "4.3.5", "HEAD that fails leaves what GET stored",
            [.ok("one", fresh), Answer(404, [], omitsContent: true)],
            [.network("one"), .network("", ["Cache-Control": "no-cache"], method: "HEAD", status: 404), .cache("one")]),
    ]
}
