// A correct server, whose responses are determined by the queries of requests.

import FixtureServer
import Foundation
import Synchronization

/// The endpoints `/content`, `/jump`, `/upload` and `/events`.
final class OrderlyAnswers: Sendable {
    /// The number of requests by key, or by key and token if the requests need a token.
    private let counts = Mutex<[String: Int]>([:])
    /// The number of requests that may use one token.
    private static let tokenUses = 4

    func add(to server: FixtureServer) {
        server.route("/content") { [self] in content($0) }
        server.route("/jump") { Self.jump($0) }
        // `FixtureServer` only counts the content for this path, which keeps memory small.
        server.route("/upload") { [self] request in
            if let refusal = refusal(of: request) { return refusal }
            let receipt = KnownContent.receipt(byteCount: request.bodyByteCount, checksum: request.bodyChecksum)
            return FixtureResponse(fields: [("Content-Type", "text/plain")], body: .data(receipt))
        }
        server.route("/events") { Self.events($0) }
    }

    private func content(_ request: ReceivedRequest) -> FixtureResponse {
        if let key = request.parameter("key"), let failures = number("failures", of: request) {
            if count(key) <= failures { return .text("unavailable", status: 503) }
        }
        if request.parameter("foreign") != nil,
            ["Authorization", "X-Api-Key", "Cookie"].contains(where: { request.field($0) != nil })
        {
            return .text("credentials of another origin")
        }
        if let refusal = refusal(of: request) { return refusal }
        if request.parameter("guarded") != nil, request.field("Authorization") != "Basic dXNlcjpzZWNyZXQ=" {
            return .text("unauthorized", status: 401, fields: [("WWW-Authenticate", "Basic realm=\"chaos\"")])
        }
        return resource(request)
    }

    private func count(_ key: String) -> Int {
        counts.withLock { counts in
            counts[key, default: 0] += 1
            return counts[key, default: 0]
        }
    }

    /// A 401 for a request whose token is missing, is the first one, or was used too often; else `nil`.
    private func refusal(of request: ReceivedRequest) -> FixtureResponse? {
        guard let key = request.parameter("tokens") else { return nil }
        let token = request.field("Authorization") ?? ""
        if token.hasPrefix("Token "), token != "Token 0", count("\(key) \(token)") <= Self.tokenUses { return nil }
        return .text("unauthorized", status: 401)
    }

    private func resource(_ request: ReceivedRequest) -> FixtureResponse {
        let (id, count) = (number("id", of: request) ?? 0, number("count", of: request) ?? 0)
        var fields: [(name: String, value: String)] = [("Content-Type", "application/octet-stream")]
        if let age = number("age", of: request) { fields.append(("Cache-Control", "max-age=\(age)")) }
        var bytes = KnownContent.bytes(id: id, count: count)
        var status = number("status", of: request) ?? 200
        if request.parameter("etag") != nil {
            let tag = "\"\(id)-\(count)\""
            fields.append(("ETag", tag))
            if request.field("If-None-Match") == tag { return FixtureResponse(status: 304, fields: fields) }
            if let range = request.field("Range"), (request.field("If-Range") ?? tag) == tag,
                let offset = Int(range.dropFirst("bytes=".count).dropLast()), offset < count
            {
                fields.append(("Content-Range", "bytes \(offset)-\(count - 1)/\(count)"))
                bytes = bytes.dropFirst(offset)
                status = 206
            }
        }
        if status == 204 { return FixtureResponse(status: 204) }
        return FixtureResponse(status: status, fields: fields, body: body(Data(bytes), request))
    }

    private func body(_ bytes: Data, _ request: ReceivedRequest) -> FixtureResponse.Body {
        let pieces = number("pieces", of: request) ?? 1
        let isChunked = request.parameter("chunked") != nil
        guard pieces > 1 || isChunked else { return .data(bytes) }
        let pause = Double(number("pause", of: request) ?? 0) / 1_000
        let size = max(1, (bytes.count + pieces - 1) / pieces)
        return .pieces(byteCount: isChunked ? nil : bytes.count) { number in
            let offset = number / 2 * size
            guard offset < bytes.count else { return .end }
            if number % 2 == 1 { return .wait(pause) }
            return .bytes(bytes.subdata(in: offset..<min(offset + size, bytes.count)))
        }
    }

    private static func jump(_ request: ReceivedRequest) -> FixtureResponse {
        let left = request.parameter("left").flatMap { Int($0) } ?? 1
        let code = request.parameter("code").flatMap { Int($0) } ?? 302
        let endpoint = request.parameter("to") ?? "/content"
        let rest = request.query.filter { !["left", "code", "to"].contains($0.name) }
        let query = rest.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        var next = left > 1 ? "/jump?left=\(left - 1)&code=\(code)&to=\(endpoint)&\(query)" : "\(endpoint)?\(query)"
        if left == 1, request.parameter("foreign") != nil, let port = request.field("Host")?.split(separator: ":").last
        {
            next = "http://localhost:\(port)\(next)"  // another origin than 127.0.0.1
        }
        return .text("elsewhere", status: code, fields: [("Location", next)])
    }

    /// Returns the next events after `Last-Event-ID`, at most three for each connection; 204 when no event is left.
    private static func events(_ request: ReceivedRequest) -> FixtureResponse {
        let count = request.parameter("count").flatMap { Int($0) } ?? 0
        let id = request.parameter("id") ?? ""
        let last = request.field("Last-Event-ID").flatMap { Int($0) } ?? 0
        guard last < count else { return FixtureResponse(status: 204) }
        let events = ((last + 1)...min(last + 3, count)).map { "id: \($0)\ndata: \(id)-\($0)\n\n" }
        return FixtureResponse(
            fields: [("Content-Type", "text/event-stream")], body: .data(Data(("retry: 1\n\n" + events.joined()).utf8)))
    }

    private func number(_ name: String, of request: ReceivedRequest) -> Int? {
        request.parameter(name).flatMap { Int($0) }
    }
}
