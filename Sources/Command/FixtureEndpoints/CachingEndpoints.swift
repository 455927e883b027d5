// Endpoints about caching and ranges.

import Foundation

/// The endpoints `/cache`, `/cache/SECONDS`, `/etag/ETAG` and `/range/N`.
enum CachingEndpoints {
    static func answer(_ name: String, _ rest: [String], _ request: ReceivedRequest) -> FixtureResponse? {
        switch name {
        case "cache" where rest.isEmpty:
            if request.field("If-Modified-Since") != nil || request.field("If-None-Match") != nil {
                return .status(304)
            }
            return .json(
                EchoEndpoints.description(request),
                fields: [("Last-Modified", "Sat, 01 Nov 2025 00:00:00 GMT"), ("ETag", "\"fixture\"")])
        case "cache":
            guard let seconds = rest.first.flatMap(Int.init), seconds >= 0 else { return .status(400) }
            return .json(EchoEndpoints.description(request), fields: [("Cache-Control", "public, max-age=\(seconds)")])
        case "etag": return etag(rest, request)
        case "range": return range(rest, request)
        default: return nil
        }
    }

    private static func etag(_ rest: [String], _ request: ReceivedRequest) -> FixtureResponse {
        guard let tag = rest.first, tag.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "-" }) else {
            return .status(400)
        }
        let field = [(name: "ETag", value: "\"\(tag)\"")]
        func lists(_ name: String) -> Bool? {
            request.field(name).map { value in
                value.split(separator: ",").contains { element in
                    let candidate = element.trimmingCharacters(in: .whitespaces)
                    return candidate == "*" || candidate == "\"\(tag)\"" || candidate == "W/\"\(tag)\""
                }
            }
        }
        if lists("If-None-Match") == true { return FixtureResponse(status: 304, fields: field) }
        if lists("If-Match") == false { return FixtureResponse(status: 412, fields: field) }
        return .json(EchoEndpoints.description(request), fields: field)
    }

    /// Returns N bytes of the repeated alphabet, or the requested range of them (RFC 9110 §14).
    private static func range(_ rest: [String], _ request: ReceivedRequest) -> FixtureResponse {
        guard let count = rest.first.flatMap(Int.init), (1...100_000_000).contains(count) else { return .status(404) }
        let tag = "\"range\(count)\""
        let fields = [(name: "ETag", value: tag), (name: "Accept-Ranges", value: "bytes")]
        let isCurrent = request.field("If-Range").map { $0 == tag } ?? true
        guard isCurrent, let wanted = request.field("Range").flatMap({ parse($0, count) }) else {
            return whole(0..<count, status: 200, fields)
        }
        guard let span = wanted.span else {
            return FixtureResponse(status: 416, fields: fields + [("Content-Range", "bytes */\(count)")])
        }
        let content = (name: "Content-Range", value: "bytes \(span.lowerBound)-\(span.upperBound - 1)/\(count)")
        return whole(span, status: 206, fields + [content])
    }

    private static func whole(
        _ span: Range<Int>, status: Int, _ fields: [(name: String, value: String)]
    ) -> FixtureResponse {
        let size = 64 * 1024
        return FixtureResponse(
            status: status, fields: fields + [("Content-Type", "application/octet-stream")],
            body: .pieces(byteCount: span.count) { number in
                let start = span.lowerBound + number * size
                guard start < span.upperBound else { return .end }
                return .bytes(Data((start..<min(start + size, span.upperBound)).map { UInt8(97 + $0 % 26) }))
            })
    }

    /// Parses a `Range` field with one range; returns `nil` for a field to ignore, and a `nil` span for status 416.
    private static func parse(_ text: String, _ count: Int) -> (span: Range<Int>?, Void)? {
        guard text.hasPrefix("bytes="), !text.contains(",") else { return nil }
        let halves = text.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        switch (Int(halves[0]), Int(halves[1])) {
        case (let first?, let last?):
            return first < count && last >= first ? (first..<min(last + 1, count), ()) : (nil, ())
        case (let first?, nil) where halves[1].isEmpty: return first < count ? (first..<count, ()) : (nil, ())
        case (nil, let suffix?) where halves[0].isEmpty:
            return suffix > 0 ? (max(0, count - suffix)..<count, ()) : (nil, ())
        default: return nil
        }
    }
}
