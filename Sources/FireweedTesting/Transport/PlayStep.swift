// An answer as the steps that a transfer plays.

import Fireweed
import Foundation

/// One step of an answer.
enum PlayStep: Sendable {
    case wait(Duration)
    case interim(ResponseHead)
    case head(ResponseHead)
    case content(Data)
    /// The feed's content, until the feed ends or this many bytes are delivered; `nil` for no limit.
    case feed(ResponseFeed, byteLimit: Int?)
    /// The source's pieces from this number on, until the source ends or this many bytes are delivered; `nil` for no
    /// limit.
    case source(ContentSource, next: Int, byteLimit: Int?)
    case failure(any Error)
    case stall

    /// Returns the steps of an answer to a request with this method.
    static func steps(of response: MockResponse, to method: HTTPMethod) -> [PlayStep] {
        var steps: [PlayStep] = []
        if response.delay > .zero { steps.append(.wait(response.delay)) }
        steps += response.interim.map { .interim($0) }
        var ending = response.ending
        var limit: Int?
        if let fault = response.fault?.onStub {
            (limit, ending) = (fault.byteCount, fault.ending)
            guard fault.hasHead else { return steps + Self.steps(of: ending) }
        }
        guard response.hasHead else { return steps + Self.steps(of: ending) }
        do {
            var content = try response.contentSteps(limit: limit)
            steps.append(.head(response.head(byteCount: content.byteCount)))
            // Responses to HEAD, 204 and 304 have no content, whatever their fields say (RFC 9112 §6.3).
            let hasNone = method == .head || response.status == 204 || response.status == 304
            if case .throttle(let rate) = response.fault { content.steps = throttled(content.steps, to: rate) }
            return hasNone ? steps : steps + content.steps + Self.steps(of: ending)
        } catch {
            return [.failure(error)]
        }
    }

    /// Splits the content into about ten pieces a second, with pauses between them; the content of a feed or a
    /// source is not slowed down.
    private static func throttled(_ steps: [PlayStep], to rate: Int) -> [PlayStep] {
        let rate = max(1, rate)
        let size = max(1, rate / 10)
        var throttled: [PlayStep] = []
        var pause: PlayStep?
        for step in steps {
            guard case .content(let data) = step else {
                throttled.append(step)
                continue
            }
            for offset in stride(from: 0, to: data.count, by: size) {
                let piece = data.dropFirst(offset).prefix(size)
                if let pause { throttled.append(pause) }
                throttled.append(.content(piece))
                pause = .wait(.seconds(Double(piece.count) / Double(rate)))
            }
        }
        return throttled
    }

    private static func steps(of ending: MockResponse.Termination) -> [PlayStep] {
        switch ending {
        case .complete: []
        case .failure(let error): [.failure(error)]
        case .stall: [.stall]
        }
    }
}

extension MockResponse {
    /// Returns the head, with `Content-Length` added when the length is known and there are no trailers.
    func head(byteCount: Int?) -> ResponseHead {
        var fields = fields
        let isBare = status == 204 || status == 304 || status < 200
        if let byteCount, !isBare, trailers.isEmpty,
            !fields.contains(where: { $0.name.isEqualIgnoringASCIICase("Content-Length") })
        {
            fields.append(Field(name: "Content-Length", value: "\(byteCount)"))
        }
        return ResponseHead(status: status, fields: fields)
    }

    /// Returns the steps of the content up to a fault's limit, and the whole content's length, which is `nil` when
    /// unknown.
    fileprivate func contentSteps(limit: Int?) throws -> (steps: [PlayStep], byteCount: Int?) {
        switch content {
        case .data(let data): return (Self.steps(of: data, limit), data.count)
        case .file(let url):
            let data = try Data(contentsOf: url, options: .mappedIfSafe)
            return (Self.steps(of: data, limit), data.count)
        case .feed(let feed): return (limit == 0 ? [] : [.feed(feed, byteLimit: limit)], nil)
        case .source(let source):
            return (limit == 0 ? [] : [.source(source, next: 0, byteLimit: limit)], source.byteCount)
        case .pieces(let pieces):
            var left = limit ?? .max
            var steps: [PlayStep] = []
            // A fault takes effect directly after its last byte, so later pauses and the end of the content are left
            // out.
            for piece in pieces where left > 0 {
                guard case .data(let data) = piece else {
                    steps.append(piece.step)
                    continue
                }
                steps.append(.content(data.prefix(left)))
                left -= min(left, data.count)
            }
            return (steps, nil)
        }
    }

    private static func steps(of data: Data, _ limit: Int?) -> [PlayStep] {
        let data = limit.map { data.prefix($0) } ?? data
        return data.isEmpty ? [] : [.content(data)]
    }
}

extension MockResponse.Piece {
    var step: PlayStep {
        switch self {
        case .data(let data): .content(data)
        case .pause(let duration): .wait(duration)
        }
    }
}
