// A mock server's answer on an HTTP/2 stream.

import Fireweed
import Foundation

/// Sends one answer on a thread of its own, with its fault.
///
/// Faults that close or reset are those of the connection, with every stream on it, unless they name the stream.
struct HTTP2ResponseSender {
    let connection: HTTP2ServerConnection
    let stream: HTTP2ServerStream

    func send(_ response: MockResponse, to method: HTTPMethod) {
        switch response.fault {
        case .closeBeforeHead, .closeAfterRequestHead, .closeInRequestBody: return connection.close()
        case .reset: return connection.reset()
        case .garbage(let bytes): return connection.sendGarbage(bytes)
        case .goAway: return connection.goAway(from: stream)
        case .resetStream(let code): return connection.reset(stream, code: code)
        default: break
        }
        for step in PlayStep.serverSteps(of: response, to: method) {
            switch step {
            case .wait(let duration): Thread.sleep(forTimeInterval: duration.seconds)
            case .interim(let head): guard connection.submit(head, on: stream, isInterim: true) else { return }
            case .head(let head): guard send(head, response.fault) else { return }
            case .content(let data): guard send(data, response.fault) else { return }
            case .feed(let feed): guard send(feed) else { return }
            case .failure: return connection.reset(stream, code: Self.internalError)
            case .stall: return
            }
        }
        _ = connection.add(Data(), isLast: true, on: stream)
    }

    /// RFC 9113 §7.
    private static let internalError: UInt32 = 2

    private func send(_ head: ResponseHead, _ fault: ServerFault?) -> Bool {
        switch fault {
        case .closeInHead(let count):
            connection.submit(head, on: stream, byteLimit: count)
            connection.close()
            return false
        case .closeAfterHead:
            connection.submit(head, on: stream)
            connection.close()
            return false
        default: return connection.submit(head, on: stream)
        }
    }

    private func send(_ data: Data, _ fault: ServerFault?) -> Bool {
        let add = { (data: Data) in connection.add(data, isLast: false, on: stream) }
        switch fault {
        case .closeInBody(let count):
            _ = add(data.prefix(count))
            connection.close()
            return false
        case .resetInBody(let count):
            _ = add(data.prefix(count))
            connection.reset()
            return false
        case .resetStreamInBody(let count, let code):
            _ = add(data.prefix(count))
            connection.reset(stream, code: code)
            return false
        case .stallInBody(let count):
            _ = add(data.prefix(count))
            return false
        case .throttle(let rate):
            var rest = data[...]
            while !rest.isEmpty {
                // Ten pieces a second.
                let piece = rest.prefix(max(1, rate / 10))
                guard add(Data(piece)) else { return false }
                rest = rest.dropFirst(piece.count)
                if !rest.isEmpty { Thread.sleep(forTimeInterval: Double(piece.count) / Double(max(1, rate))) }
            }
            return true
        default: return add(data)
        }
    }

    /// Sends what a feed gives, until its end.
    private func send(_ feed: ResponseFeed) -> Bool {
        let events = FeedQueue()
        guard feed.listen({ events.add($0) }) else {
            connection.reset(stream, code: Self.internalError)
            return false
        }
        while true {
            switch events.next() {
            case .data(let data): guard connection.add(data, isLast: false, on: stream) else { return false }
            case .finish: return true
            case .failure:
                connection.reset(stream, code: Self.internalError)
                return false
            }
        }
    }
}
