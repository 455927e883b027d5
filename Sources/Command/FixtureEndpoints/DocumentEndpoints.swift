// Endpoints with a fixed document.

import FireweedTransport
import Foundation

/// The endpoints `/`, `/json`, `/xml`, `/html`, `/image/png`, `/encoding/utf8`, `/robots.txt`, `/uuid` and `/small`.
enum DocumentEndpoints {
    static func answer(_ name: String, _ rest: [String], _ request: ReceivedRequest) -> FixtureResponse? {
        switch name {
        case "": .text(index)
        case "json": .json(["slideshow": ["title": "Sample", "slides": [["title": "Fireweed", "type": "all"]]]])
        case "xml":
            .text("<?xml version='1.0' encoding='us-ascii'?>\n<slideshow title=\"Sample\"/>\n", type: "application/xml")
        case "html":
            .text("<!DOCTYPE html>\n<html><body><h1>Fireweed</h1></body></html>\n", type: "text/html; charset=utf-8")
        case "encoding": .text("∮ E⋅da = Q,  n → ∞, ∑ f(i) = ∏ g(i)\nЗарегистрируйтесь\nსიბრძნე\n")
        case "robots.txt": .text("User-agent: *\nDisallow: /deny\n")
        case "uuid": .json(["uuid": UUID.random().uuidString])
        case "small": FixtureResponse(fields: [("Content-Type", "application/json")], body: .data(small))
        case "image" where rest.first == "png":
            FixtureResponse(fields: [("Content-Type", "image/png")], body: .data(png))
        default: nil
        }
    }

    private static let index = """
        What this server answers:

        /get /post /put /patch /delete   the request as JSON, for that method
        /anything /headers /ip           the request as JSON, for any method
        /user-agent /upload /parts       parts of it
        /status/404                      a status
        /delay/1 /drip?bytes=10          late, or slowly
        /bytes/1024 /stream-bytes/1024   bytes, with a length or in chunks
        /stream/3 /sse?count=3           lines of JSON, server-sent events
        /websocket                       a WebSocket that sends messages back
        /redirect/2 /redirect-to?url=/   redirects
        /cookies /cookies/set?a=1        cookies
        /basic-auth/user/password        challenges; also /bearer and /digest-auth
        /gzip /deflate /brotli /zstd     content codings
        /cache /etag/tag /range/100      caching and ranges
        /json /xml /html /encoding       documents; also /image/png and /uuid

        """

    /// 63 bytes of JSON, for benchmarks.
    static let small = Data(#"{"id":42,"name":"Fireweed","tags":["http","swift"],"ok":true  }"#.utf8)

    /// A PNG of one transparent pixel.
    private static let png =
        Data(
            base64Encoded:
                "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
        ?? Data()
}
