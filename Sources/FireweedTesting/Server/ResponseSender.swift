// A mock server's answer on the wire.

import Fireweed
import Foundation
import Glibc
import Synchronization

/// Sends one answer on a connection's thread, with its fault.
struct ResponseSender {
    private let stream: any ServerStream
    private let descriptor: Int32
    private let method: HTTPMethod
    /// Whether the client knows content in chunks, as from HTTP/1.1 on (RFC 9112 §7).
    private let allowsChunks: Bool
    /// Whether the connection ends with this answer.
    private let isLast: Bool

    /// `closes` ends the connection with this answer, whatever the request wants.
    init(_ stream: any ServerStream, _ descriptor: Int32, _ head: RequestReader.Head, closes: Bool = false) {
        self.stream = stream
        self.descriptor = descriptor
        method = HTTPMethod(rawValue: head.method)
        allowsChunks = head.version != "HTTP/1.0"
        isLast = closes || head.isLast
    }

    /// Sends an answer; false when the connection is over.
    func send(_ response: MockResponse) -> Bool {
        switch response.fault {
        case .closeBeforeHead, .closeAfterRequestHead, .closeInRequestBody: return false
        case .goAway: return false
        case .reset, .resetStream:
            descriptor.resetOnClose()
            return false
        case .garbage(let bytes):
            _ = stream.write(bytes)
            return false
        default: break
        }
        var isChunked = false
        var contentFault = ContentFault(response.fault)
        for step in PlayStep.serverSteps(of: response, to: method) {
            switch step {
            case .wait(let duration): guard wait(duration) else { return false }
            case .interim(let head): guard stream.write(Self.text(of: head)) else { return false }
            case .head(let head):
                var head = head
                if isLast, !head.fields.contains(where: { $0.name.isEqualIgnoringASCIICase("Connection") }) {
                    head = ResponseHead(
                        status: head.status, fields: head.fields + [Field(name: "Connection", value: "close")])
                }
                if allowsChunks, response.isUnframed(for: method) {
                    isChunked = true
                    head = ResponseHead(
                        status: head.status,
                        fields: head.fields + [Field(name: "Transfer-Encoding", value: "chunked")])
                }
                guard sendHead(Self.text(of: head), response.fault) else { return false }
                // A fault after 0 bytes takes effect now: it cannot wait for content, which a feed may never send.
                if contentFault.isDue, response.hasContent(for: method) { return end(by: response.fault) }
            case .content(let data):
                guard sendContent(data, isChunked, response.fault, &contentFault) else { return false }
            case .feed(let feed, _):
                guard send(feed, isChunked, response.fault, &contentFault) else { return false }
            case .source(let source, _, _):
                guard send(source, isChunked, response.fault, &contentFault) else { return false }
            case .failure: return false
            case .stall: return stall()
            }
        }
        if contentFault.isPending, response.hasContent(for: method) { return end(by: response.fault) }
        return !isChunked || stream.write(Data("0\r\n\(Self.lines(of: response.trailers))\r\n".utf8))
    }

    private func sendHead(_ bytes: Data, _ fault: ServerFault?) -> Bool {
        switch fault {
        case .closeInHead(let count):
            _ = stream.write(bytes.prefix(max(0, count)))
            return false
        case .closeAfterHead:
            _ = stream.write(bytes)
            return false
        default: return stream.write(bytes)
        }
    }

    /// Sends a piece of the content; false when the connection is over, possibly because of the fault.
    private func sendContent(
        _ data: Data, _ isChunked: Bool, _ fault: ServerFault?, _ contentFault: inout ContentFault
    ) -> Bool {
        let progress = contentFault.send(data, waitingBy: wait) { part in
            stream.write(
                isChunked ? Data("\(String(part.count, radix: 16))\r\n".utf8) + part + Data("\r\n".utf8) : part)
        }
        return switch progress {
        case .sent: true
        case .due: end(by: fault)
        case .lost: false
        }
    }

    /// Sends the pieces of a source until it ends; false when it has another number of bytes than it said.
    private func send(
        _ source: ContentSource, _ isChunked: Bool, _ fault: ServerFault?, _ contentFault: inout ContentFault
    ) -> Bool {
        var (number, left) = (0, source.byteCount)
        while let piece = source.piece(number) {
            number += 1
            switch piece {
            case .data(let data):
                let part = data.prefix(left ?? .max)
                left? -= part.count
                guard sendContent(part, isChunked, fault, &contentFault), part.count == data.count else { return false }
            case .pause(let duration): guard wait(duration) else { return false }
            }
        }
        return left == nil || left == 0
    }

    /// Carries out a fault of the content: closes or resets the connection, or only stalls.
    private func end(by fault: ServerFault?) -> Bool {
        switch fault {
        case .resetInBody, .resetStreamInBody: descriptor.resetOnClose()
        case .stallInBody: return stall()
        default: break
        }
        return false
    }

    /// Waits for a pause in an answer, on the connection's own thread.
    ///
    /// - Returns: false when the connection is over, for example because the server stops. A client that has closed
    ///   only its sending side does not end the wait: it may still read the answer.
    private func wait(_ duration: Duration) -> Bool {
        let end = ContinuousClock.now + duration
        while true {
            let rest = ContinuousClock.now.duration(to: end)
            guard rest > .zero else { return true }
            // The time is rounded up, since a time of 0 would not wait. A wait of more than a day is split into parts.
            let milliseconds = Int32(min(rest.seconds, 86_400) * 1000) + 1
            if descriptor.hasEvents(0, within: milliseconds) { return false }
        }
    }

    /// Reads until the client is gone, and sends nothing.
    private func stall() -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { space in
            while stream.read(into: space) > 0 {}
        }
        return false
    }

    /// POLLRDHUP of poll(2), a GNU extension, which Swift's Glibc module does not have.
    private static let peerHasEnded: Int16 = 0x2000

    /// Sends a feed's content on this thread until the feed ends.
    private func send(
        _ feed: ResponseFeed, _ isChunked: Bool, _ fault: ServerFault?, _ contentFault: inout ContentFault
    ) -> Bool {
        let events = FeedQueue()
        guard feed.listen({ events.add($0) }) else { return false }
        while true {
            // With POLLRDHUP, a client that is gone looks like a client that closed only its sending side, so both end
            // the answer.
            switch events.next(isGone: { descriptor.hasEvents(Self.peerHasEnded, within: 0) }) {
            case .data(let data): guard sendContent(data, isChunked, fault, &contentFault) else { return false }
            case .finish: return true
            case .failure, nil: return false
            }
        }
    }

    private static func text(of head: ResponseHead) -> Data {
        let reason = HTTPURLResponse.localizedString(forStatusCode: head.status)
        return Data("HTTP/1.1 \(head.status) \(reason)\r\n\(lines(of: head.fields))\r\n".utf8)
    }

    private static func lines(of fields: [Field]) -> String {
        fields.map { "\($0.name): \($0.value)\r\n" }.joined()
    }
}

extension PlayStep {
    /// Returns the steps of an answer without its fault, which the server performs itself.
    static func serverSteps(of response: MockResponse, to method: HTTPMethod)
        -> [PlayStep]
    {
        steps(of: response.changed { $0.fault = nil }, to: method)
    }
}

extension MockResponse {
    /// Whether the answer to a method has content (RFC 9112 §6.3), which may be empty.
    func hasContent(for method: HTTPMethod) -> Bool {
        hasHead && method != .head && status >= 200 && status != 204 && status != 304
    }

    /// Whether the content is sent in chunks: it has no `Content-Length`, and its length is unknown or trailers follow.
    fileprivate func isUnframed(for method: HTTPMethod) -> Bool {
        guard hasContent(for: method) else { return false }
        guard !fields.contains(where: { $0.name.isEqualIgnoringASCIICase("Content-Length") }) else {
            return false
        }
        return switch content {
        case .pieces, .feed: true
        case .source(let source): source.byteCount == nil || !trailers.isEmpty
        case .data, .file: !trailers.isEmpty
        }
    }

    /// Whether a connection that ends with this answer is closed without a reset.
    var closesOrderly: Bool {
        switch fault {
        case .reset, .resetInBody, .resetStream, .resetStreamInBody: false
        default: true
        }
    }
}
