// Endpoints that are slow, and endpoints that send much content.

import Foundation

/// The endpoints `/status`, `/delay`, `/bytes`, `/stream`, `/stream-bytes`, `/drip` and `/sse`.
enum TimingEndpoints {
    private static let mostBytes = 16 << 30
    private static let seconds = 0.0...600
    private static var noNumber: FixtureResponse { .json(["error": "a parameter is no number"], status: 400) }

    static func answer(_ name: String, _ rest: [String], _ request: ReceivedRequest) -> FixtureResponse? {
        switch name {
        case "status": status(rest, request)
        case "delay": delay(rest, request)
        case "bytes": bytes(rest, isChunked: false)
        case "stream-bytes": bytes(rest, isChunked: true)
        case "stream": stream(rest, request)
        case "drip": drip(request)
        case "sse": events(request)
        default: nil
        }
    }

    private static func status(_ rest: [String], _ request: ReceivedRequest) -> FixtureResponse {
        let codes = (rest.first ?? "").split(separator: ",").compactMap { Int($0) }.filter { (200...599).contains($0) }
        guard let code = codes.randomElement() else { return .json(["error": "no status"], status: 400) }
        switch code {
        case 301, 302, 303, 307, 308: return FixtureResponse(status: code, fields: [("Location", "/redirect/1")])
        case 401: return FixtureResponse(status: code, fields: [("WWW-Authenticate", "Basic realm=\"fixture\"")])
        default: return FixtureResponse(status: code)
        }
    }

    private static func delay(_ rest: [String], _ request: ReceivedRequest) -> FixtureResponse {
        guard let seconds = rest.first.flatMap(Double.init), Self.seconds.contains(seconds) else {
            return .json(["error": "no number of seconds"], status: 400)
        }
        var response = FixtureResponse.json(EchoEndpoints.description(request))
        response.delay = seconds
        return response
    }

    private static func bytes(_ rest: [String], isChunked: Bool) -> FixtureResponse {
        guard let count = rest.first.flatMap(Int.init), (0...mostBytes).contains(count) else {
            return .json(["error": "no number of bytes"], status: 400)
        }
        let size = 64 * 1024
        let block = Self.block
        return FixtureResponse(
            fields: [("Content-Type", "application/octet-stream")],
            body: .pieces(byteCount: isChunked ? nil : count) { number in
                let left = count - number * size
                return left <= 0 ? .end : .bytes(left >= size ? block : block.prefix(left))
            })
    }

    /// 64 KiB of fixed bytes that hardly compress.
    private static let block: Data = {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        return Data(
            (0..<64 * 1024).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: state >> 33)
            })
    }()

    private static func stream(_ rest: [String], _ request: ReceivedRequest) -> FixtureResponse {
        guard let count = rest.first.flatMap(Int.init), (0...100).contains(count) else {
            return .json(["error": "no number of lines up to 100"], status: 400)
        }
        let target = request.target
        return FixtureResponse(
            fields: [("Content-Type", "application/json")],
            body: .pieces(byteCount: nil) { number in
                number >= count ? .end : .bytes(Data("{\"id\": \(number), \"url\": \"\(target)\"}\n".utf8))
            })
    }

    /// Returns `numbytes` (or `bytes`) bytes, sent over `duration` seconds, after `delay` seconds, with status `code`.
    private static func drip(_ request: ReceivedRequest) -> FixtureResponse {
        guard let bytes = request.number("numbytes", "bytes", in: 0...10_000_000, default: 10),
            let duration = request.number("duration", in: seconds, default: 2),
            let delay = request.number("delay", in: seconds, default: 0),
            let code = request.number("code", in: 0...1000, default: 200)
        else { return noNumber }
        let (count, status) = (Int(bytes), Int(code))
        let pause = count > 0 ? duration / Double(count) : 0
        guard (200...599).contains(status) else { return .json(["error": "no status"], status: 400) }
        return FixtureResponse(
            status: status, fields: [("Content-Type", "application/octet-stream")],
            body: .pieces(byteCount: count) { number in
                if number / 2 >= count { return .end }
                return number % 2 == 0 ? .bytes(Data("*".utf8)) : .wait(pause)
            }, delay: delay)
    }

    /// Returns the server-sent events 1 to `count` (default 10), without those up to the number in `Last-Event-ID`.
    ///
    /// A pause of `duration` / `count` seconds follows each event; `duration` is `count` / 2 by default.
    private static func events(_ request: ReceivedRequest) -> FixtureResponse {
        guard let number = request.number("count", in: 0...100_000, default: 10),
            let duration = request.number("duration", in: seconds, default: min(number / 2, seconds.upperBound))
        else { return noNumber }
        let count = Int(number)
        let pause = count > 0 ? duration / number : 0
        let first = min(max(request.field("Last-Event-ID").flatMap(Int.init) ?? 0, 0), count)
        return FixtureResponse(
            fields: [("Content-Type", "text/event-stream"), ("Cache-Control", "no-store")],
            body: .pieces(byteCount: nil) { number in
                let id = first + number / 2 + 1
                if id > count { return .end }
                return number % 2 == 0
                    ? .bytes(Data("id: \(id)\nevent: tick\ndata: {\"id\": \(id)}\n\n".utf8)) : .wait(pause)
            })
    }
}
