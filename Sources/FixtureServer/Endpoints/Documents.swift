// Endpoints with a fixed document.

import Foundation

/// `/json`, `/xml`, `/html`, `/image/png`, `/encoding/utf8`, `/robots.txt`, `/uuid`, `/small`.
enum Documents {
    static func answer(_ name: String, _ rest: [String], _ request: ReceivedRequest) -> FixtureResponse? {
        switch name {
        case "": .text("Fireweed's fixture server. Try /get, /anything, /status/404, /delay/1, /bytes/1024.\n")
        case "json": .json(["slideshow": ["title": "Sample", "slides": [["title": "Fireweed", "type": "all"]]]])
        case "xml":
            .text("<?xml version='1.0' encoding='us-ascii'?>\n<slideshow title=\"Sample\"/>\n", type: "application/xml")
        case "html":
            .text("<!DOCTYPE html>\n<html><body><h1>Fireweed</h1></body></html>\n", type: "text/html; charset=utf-8")
        case "encoding": .text("∮ E⋅da = Q,  n → ∞, ∑ f(i) = ∏ g(i)\nЗарегистрируйтесь\nსიბრძნე\n")
        case "robots.txt": .text("User-agent: *\nDisallow: /deny\n")
        case "uuid": .json(["uuid": UUID().uuidString])
        case "small": FixtureResponse(fields: [("Content-Type", "application/json")], body: .data(small))
        case "image" where rest.first == "png":
            FixtureResponse(fields: [("Content-Type", "image/png")], body: .data(png))
        default: nil
        }
    }

    /// 63 bytes of JSON, for benchmarks.
    static let small = Data(#"{"id":42,"name":"Fireweed","tags":["http","swift"],"ok":true  }"#.utf8)

    /// One transparent point.
    private static let png =
        Data(
            base64Encoded:
                "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
        ?? Data()
}
