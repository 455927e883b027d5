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
        switch RequestedRange(isCurrent ? request.field("Range") : nil, of: count) {
        case .whole: return bytes(0..<count, status: 200, fields)
        case .part(let span):
            let content = (name: "Content-Range", value: "bytes \(span.lowerBound)-\(span.upperBound - 1)/\(count)")
            return bytes(span, status: 206, fields + [content])
        case .unsatisfiable:
            return FixtureResponse(status: 416, fields: fields + [("Content-Range", "bytes */\(count)")])
        }
    }

    private static func bytes(
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
}
