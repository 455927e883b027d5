// RFC 9111 §2, §3, §4.1: what is stored, and what it is found by.

import Foundation

extension CacheTable {
    static let storing: [CacheCase] =
        statuses + [
            CacheCase(
                "3", "an answer to GET with max-age is stored", [.ok("one", fresh)], [.network("one"), .cache("one")]),
            CacheCase(
                "3", "what says nothing about freshness and cannot be validated is not stored",
                [.ok("one"), .ok("two")],
                [.network("one"), .network("two")]),
            CacheCase(
                "5.2.2.5", "no-store is not stored", [.ok("one", "Cache-Control: no-store, max-age=60"), .ok("two")],
                [.network("one"), .network("two")]),
            CacheCase(
                "5.2.1.5", "the answer to a request with no-store is not stored",
                [.ok("one", fresh), .ok("two", fresh)],
                [.network("one", ["Cache-Control": "no-store"]), .network("two")]),
            CacheCase(
                "5.2.2.7", "private is stored: this cache is private",
                [.ok("one", "Cache-Control: private, max-age=60")], [.network("one"), .cache("one")]),
            CacheCase(
                "5.2.2.7", "private with a field name is stored",
                [.ok("one", "Cache-Control: private=\"Set-Cookie\", max-age=60")], [.network("one"), .cache("one")]),
            CacheCase(
                "5.2.2.3", "must-understand lets a status that is understood be stored in spite of no-store",
                [.ok("one", "Cache-Control: must-understand, no-store, max-age=60")], [.network("one"), .cache("one")]),
            CacheCase(
                "5.2.2.3", "with must-understand an unknown status is not stored",
                [Answer(299, ["Cache-Control: must-understand, max-age=60"], "one"), .ok("two")],
                [.network("one", status: 299), .network("two")]),
            CacheCase(
                "3", "POST is not stored", [.ok("one", fresh), .ok("two", fresh)],
                [.network("one", method: "POST"), .network("two", method: "POST")]),
            CacheCase(
                "3", "what POST gave does not answer GET", [.ok("one", fresh), .ok("two", fresh)],
                [.network("one", method: "POST"), .network("two")]),
            CacheCase(
                "3", "OPTIONS is not stored", [.ok("one", fresh), .ok("two", fresh)],
                [.network("one", method: "OPTIONS"), .network("two", method: "OPTIONS")]),
            CacheCase(
                "3", "a response to an unknown method is not stored", [.ok("one", fresh), .ok("two", fresh)],
                [.network("one", method: "FETCH"), .network("two", method: "FETCH")]),
            CacheCase(
                "3", "the answer to HEAD is not stored", [.head(fresh), .head(fresh)],
                [.network("", method: "HEAD"), .network("", method: "HEAD")]),
            CacheCase(
                "3.1", "fields of the connection are not stored",
                [.ok("one", fresh, "Connection: X-Hop", "X-Hop: 1", "Keep-Alive: timeout=5", "X-End: 2")],
                [
                    .network("one"),
                    .cache("one", shows: ["X-Hop": nil, "Keep-Alive": nil, "Connection": nil, "X-End": "2"]),
                ]),
            CacheCase(
                "3.1", "unknown fields are stored", [.ok("one", fresh, "X-Unknown: yes")],
                [.network("one"), .cache("one", shows: ["X-Unknown": "yes"])]),
            CacheCase(
                "3.1", "Proxy-Authenticate is not stored", [.ok("one", fresh, "Proxy-Authenticate: Basic")],
                [.network("one"), .cache("one", shows: ["Proxy-Authenticate": nil])]),
            CacheCase(
                "3.3", "an incomplete answer is not stored",
                [
                    .raw("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\nhalf"),
                    .ok("whole", fresh),
                ],
                [.fails(.networkConnectionLost), .network("whole")]),
            CacheCase(
                "3.3", "an answer in chunks that ends early is not stored",
                [
                    .raw(
                        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"
                    ),
                    .ok("whole", fresh),
                ],
                [.fails(.networkConnectionLost), .network("whole")]),
            CacheCase(
                "3.3", "an answer in chunks is stored whole",
                [
                    .raw(
                        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n"
                            + "2\r\non\r\n1\r\ne\r\n0\r\n\r\n")
                ],
                [.network("one"), .cache("one")]),
            CacheCase(
                "3.4", "a part is not stored as the whole",
                [Answer(206, [fresh, "Content-Range: bytes 0-2/6"], "one"), .ok("whole", fresh)],
                [.network("one", ["Range": "bytes=0-2"], status: 206), .network("whole")]),
            CacheCase(
                "3.4", "an unrequested part is not stored",
                [Answer(206, [fresh, "Content-Range: bytes 0-2/6"], "one"), .ok("whole", fresh)],
                [.network("one", status: 206), .network("whole")]),
            CacheCase(
                "3.4", "a request for a part is not answered with the stored whole",
                [.ok("whole", fresh), Answer(206, ["Content-Range: bytes 0-2/5"], "who")],
                [.network("whole"), .network("who", ["Range": "bytes=0-2"], status: 206), .cache("whole")]),
            CacheCase(
                "3.4", "the whole that comes to a request for a part is stored", [.ok("whole", fresh)],
                [.network("whole", ["Range": "bytes=0-2"]), .cache("whole")]),
            CacheCase(
                "3.5", "what one user may see, another may not", [.ok("Ada's", fresh), .ok("Bob's", fresh)],
                [
                    .network("Ada's", ["Authorization": "Bearer ada"]),
                    .cache("Ada's", ["Authorization": "Bearer ada"]),
                    .network("Bob's", ["Authorization": "Bearer bob"]),
                ]),
            CacheCase(
                "3.5", "a response for a user is not reused without credentials",
                [.ok("Ada's", fresh), .ok("open", fresh)],
                [.network("Ada's", ["Authorization": "Bearer ada"]), .network("open")]),
            CacheCase(
                "3.5", "public says that credentials do not matter",
                [.ok("all's", "Cache-Control: public, max-age=60")],
                [.network("all's", ["Authorization": "Bearer ada"]), .cache("all's", ["Authorization": "Bearer bob"])]),
        ] + keys + vary

    /// The statuses of RFC 9110 §15.1 are stored without being told so; others are not; all are when they are told.
    private static let statuses: [CacheCase] =
        [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].map { status in
            CacheCase(
                "4.2.2", "\(status) is fresh for a tenth of its age without being told so",
                [Answer(status, ["Last-Modified: \(CacheCase.date(-1000))"], status == 204 ? "" : "one")],
                [
                    .network(status == 204 ? "" : "one", status: status),
                    .cache(status == 204 ? "" : "one", after: 99, status: status),
                ])
        }
        + [201, 202, 302, 303, 307, 400, 403, 500, 503].map { status in
            CacheCase(
                "4.2.2", "\(status) is not stored without being told so",
                [Answer(status, ["Last-Modified: \(CacheCase.date(-1000))"], "one"), .ok("two")],
                [.network("one", status: status), .network("two")])
        }
        + [302, 307, 403, 500, 299].map { status in
            CacheCase(
                "3", "\(status) is stored with max-age", [Answer(status, [fresh], "one")],
                [.network("one", status: status), .cache("one", status: status)])
        }

    private static let keys: [CacheCase] = [
        CacheCase(
            "2", "the query is part of the key", [.ok("one", fresh), .ok("two", fresh)],
            [
                .network("one", path: "/?a=1"), .network("two", path: "/?a=2"), .cache("one", path: "/?a=1"),
                .cache("two", path: "/?a=2"),
            ], needsVariants: true),
        CacheCase(
            "2", "another path has another answer", [.ok("one", fresh), .ok("two", fresh)],
            [.network("one", path: "/a"), .network("two", path: "/b"), .cache("one", path: "/a")]),
        CacheCase(
            "2", "the case of a path matters", [.ok("one", fresh), .ok("two", fresh)],
            [.network("one", path: "/a"), .network("two", path: "/A")]),
        CacheCase(
            "4", "the fragment is no part of the key", [.ok("one", fresh)],
            [.network("one", path: "/#a"), .cache("one", path: "/#b"), .cache("one", path: "/")]),
    ]

    private static let vary: [CacheCase] = [
        CacheCase(
            "Fireweed", "a response to a request with cookies answers no request with others",
            [.ok("Ada's", fresh), .ok("Bob's", fresh), .ok("open", fresh)],
            [
                .network("Ada's", ["Cookie": "id=ada; a=b"]), .cache("Ada's", ["Cookie": "a=b; id=ada"]),
                .network("Bob's", ["Cookie": "id=bob"]), .cache("Bob's", ["Cookie": "id=bob"]), .network("open"),
            ]),
        CacheCase(
            "Fireweed", "a public response answers whatever cookies there are",
            [.ok("all's", "Cache-Control: public, max-age=60")],
            [.network("all's", ["Cookie": "id=ada"]), .cache("all's", ["Cookie": "id=bob"]), .cache("all's")]),
        CacheCase(
            "4.1", "Vary: the same value", [.ok("one", fresh, "Vary: Accept-Language")],
            [.network("one", ["Accept-Language": "de"]), .cache("one", ["Accept-Language": "de"])]),
        CacheCase(
            "4.1", "Vary: another value", [.ok("one", fresh, "Vary: Accept-Language"), .ok("two", fresh)],
            [.network("one", ["Accept-Language": "de"]), .network("two", ["Accept-Language": "fr"])]),
        CacheCase(
            "4.1", "Vary: absent is not present", [.ok("one", fresh, "Vary: X-Kind"), .ok("two", fresh)],
            [.network("one"), .network("two", ["X-Kind": "a"])]),
        CacheCase(
            "4.1", "Vary: absent both times", [.ok("one", fresh, "Vary: X-Kind")], [.network("one"), .cache("one")]),
        CacheCase(
            "4", "of several suitable responses the one with the latest Date is used, and not the last one received",
            [
                .ok("later", fresh, "Date: \(CacheCase.date(-1))", "Vary: X-Kind"),
                .ok("earlier", fresh, "Date: \(CacheCase.date(-9))"),
            ],
            [
                .network("later", ["X-Kind": "a"]), .network("earlier", ["X-Kind": "b"]),
                .cache("later", ["X-Kind": "a"]),
            ],
            needsVariants: true),
        CacheCase(
            "4.1", "Vary: * matches nothing", [.ok("one", fresh, "Vary: *"), .ok("two", fresh)],
            [.network("one"), .network("two")]),
        CacheCase(
            "4.1", "Vary: a list with * matches nothing", [.ok("one", fresh, "Vary: Accept, *"), .ok("two", fresh)],
            [.network("one"), .network("two")]),
        CacheCase(
            "4.1", "Vary: all of several names have to match",
            [.ok("one", fresh, "Vary: X-A, X-B"), .ok("two", fresh)],
            [
                .network("one", ["X-A": "1", "X-B": "1"]), .cache("one", ["X-A": "1", "X-B": "1"]),
                .network("two", ["X-A": "1", "X-B": "2"]),
            ]),
        CacheCase(
            "4.1", "Vary: several fields are one list",
            [.ok("one", fresh, "Vary: X-A", "Vary: X-B"), .ok("two", fresh)],
            [.network("one", ["X-A": "1", "X-B": "1"]), .network("two", ["X-A": "1", "X-B": "2"])]),
        CacheCase(
            "4.1", "Vary: names have no case", [.ok("one", fresh, "Vary: x-KIND"), .ok("two", fresh)],
            [.network("one", ["X-Kind": "a"]), .cache("one", ["X-Kind": "a"]), .network("two", ["X-Kind": "b"])]),
        CacheCase(
            "4.1", "Vary: white space in a list does not matter", [.ok("one", fresh, "Vary: X-Kind")],
            [.network("one", ["X-Kind": "a, b"]), .cache("one", ["X-Kind": "a,b"])]),
        CacheCase(
            "4.1", "Vary: both variants are kept",
            [.ok("one", fresh, "Vary: X-Kind"), .ok("two", fresh, "Vary: X-Kind")],
            [
                .network("one", ["X-Kind": "a"]), .network("two", ["X-Kind": "b"]), .cache("one", ["X-Kind": "a"]),
                .cache("two", ["X-Kind": "b"]),
            ], needsVariants: true),
        CacheCase(
            "4", "of several that match, the most recent one answers",
            [.ok("one", fresh, "Vary: X-Kind"), .ok("two", "Cache-Control: max-age=60", "X-No: vary")],
            [
                .network("one", ["X-Kind": "a"]), .network("two", after: 5, ["X-Kind": "b"]),
                .cache("two", ["X-Kind": "a"]),
            ],
            needsVariants: true),
    ]
}
