// An answer as the steps that a transfer plays.

import Fireweed
import Foundation

/// One thing that a transfer does next.
enum PlayStep: Sendable {
    case wait(Duration)
    case interim(ResponseHead)
    case head(ResponseHead)
    case content(Data)
    case feed(ResponseFeed)
    case failure(any Error)
    case stall

    /// The steps of an answer to a request.
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
            let content = try response.contentSteps(limit: limit)
            steps.append(.head(response.head(byteCount: content.byteCount)))
            // RFC 9112 §6.3: these have no content, whatever their fields say.
            let hasNone = method == .head || response.status == 204 || response.status == 304
            return hasNone ? steps : steps + content.steps + Self.steps(of: ending)
        } catch {
            return [.failure(error)]
        }
    }

    private static func steps(of ending: MockResponse.Ending) -> [PlayStep] {
        switch ending {
        case .complete: []
        case .failure(let error): [.failure(error)]
        case .stall: [.stall]
        }
    }
}

extension MockResponse {
    /// The head, with the length of the content where it is known.
    func head(byteCount: Int?) -> ResponseHead {
        var fields = fields
        let isBare = status == 204 || status == 304 || status < 200
        if let byteCount, !isBare,
            !fields.contains(where: { $0.name.isEqualIgnoringASCIICase("Content-Length") })
        {
            fields.append(Field(name: "Content-Length", value: "\(byteCount)"))
        }
        return ResponseHead(status: status, fields: fields)
    }

    /// The content as steps, cut where a fault wants that, and its whole length where it is known.
    fileprivate func contentSteps(limit: Int?) throws -> (steps: [PlayStep], byteCount: Int?) {
        switch content {
        case .data(let data): return (Self.steps(of: data, limit), data.count)
        case .file(let url):
            let data = try Data(contentsOf: url, options: .mappedIfSafe)
            return (Self.steps(of: data, limit), data.count)
        case .feed(let feed): return ([.feed(feed)], nil)
        case .pieces(let pieces):
            var left = limit ?? .max
            return (
                pieces.map { piece in
                    guard case .data(let data) = piece else { return piece.step }
                    defer { left -= min(left, data.count) }
                    return .content(data.prefix(left))
                }, nil
            )
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
