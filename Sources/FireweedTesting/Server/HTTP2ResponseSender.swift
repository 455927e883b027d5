// A mock server's answer on an HTTP/2 stream.

import Fireweed
import Foundation

/// Sends one answer, with its fault, on the thread that serves its stream.
///
/// Faults that close or reset apply to the connection with all its streams, except the `resetStream` faults.
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
        var contentFault = ContentFault(response.fault)
        for step in PlayStep.serverSteps(of: response, to: method) {
            switch step {
            case .wait(let duration): guard stream.feedQueue.wait(duration) else { return }
            case .interim(let head): guard connection.submit(head, on: stream, isInterim: true) else { return }
            case .head(let head):
                guard send(head, response.fault) else { return }
                // A fault after 0 bytes takes effect now: it cannot wait for content, which a feed may never send.
                if contentFault.isDue, response.hasContent(for: method) { return end(by: response.fault) }
            case .content(let data): guard send(data, response.fault, &contentFault) else { return }
            case .feed(let feed, _): guard send(feed, response.fault, &contentFault) else { return }
            case .source(let source, _, _): guard send(source, response.fault, &contentFault) else { return }
            case .failure: return connection.reset(stream, code: Self.internalError)
            case .stall: return
            }
        }
        if contentFault.isPending, response.hasContent(for: method) { return end(by: response.fault) }
        let trailers = response.hasContent(for: method) ? response.trailers : []
        _ = connection.add(Data(), isLast: true, trailers: trailers, on: stream)
    }

    /// INTERNAL_ERROR (RFC 9113 §7).
    private static let internalError: UInt32 = 2

    private func send(_ head: ResponseHead, _ fault: ServerFault?) -> Bool {
        switch fault {
        case .closeInHead(let count):
            connection.submit(head, on: stream, byteLimit: max(0, count))
            connection.close()
            return false
        case .closeAfterHead:
            connection.submit(head, on: stream)
            connection.close()
            return false
        default: return connection.submit(head, on: stream)
        }
    }

    /// Sends a piece of the content; false when the exchange is over, possibly because of the fault.
    private func send(_ data: Data, _ fault: ServerFault?, _ contentFault: inout ContentFault) -> Bool {
        let progress = contentFault.send(data, waitingBy: stream.feedQueue.wait) {
            connection.add($0, isLast: false, on: stream)
        }
        switch progress {
        case .sent: return true
        case .due: end(by: fault)
        case .lost: break
        }
        return false
    }

    /// Carries out a fault of the content, on the connection or on the stream.
    private func end(by fault: ServerFault?) {
        switch fault {
        case .closeInBody: connection.close()
        case .resetInBody: connection.reset()
        case .resetStreamInBody(_, let code): connection.reset(stream, code: code)
        default: break  // stalled: the stream stays open
        }
    }

    /// Sends the pieces of a source until it ends.
    private func send(_ source: ContentSource, _ fault: ServerFault?, _ contentFault: inout ContentFault) -> Bool {
        var number = 0
        while let piece = source.piece(number) {
            number += 1
            switch piece {
            case .data(let data): guard send(data, fault, &contentFault) else { return false }
            case .pause(let duration): guard stream.feedQueue.wait(duration) else { return false }
            }
        }
        return true
    }

    /// Sends a feed's content until the feed ends.
    private func send(_ feed: ResponseFeed, _ fault: ServerFault?, _ contentFault: inout ContentFault) -> Bool {
        let events = stream.feedQueue
        guard feed.listen({ events.add($0) }) else {
            connection.reset(stream, code: Self.internalError)
            return false
        }
        while true {
            switch events.next() {
            case .data(let data): guard send(data, fault, &contentFault) else { return false }
            case .finish: return true
            case .failure:
                connection.reset(stream, code: Self.internalError)
                return false
            case nil: return false
            }
        }
    }
}
