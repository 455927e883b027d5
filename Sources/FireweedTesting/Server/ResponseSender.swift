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

    init(_ stream: any ServerStream, _ descriptor: Int32, _ head: RequestReader.Head) {
        self.stream = stream
        self.descriptor = descriptor
        method = HTTPMethod(rawValue: head.method)
    }

    /// False when the connection is over.
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
        for step in PlayStep.serverSteps(of: response, to: method) {
            switch step {
            // The delay that the test asked for; each connection has a thread of its own.
            case .wait(let duration): Thread.sleep(forTimeInterval: duration.seconds)
            case .interim(let head): guard stream.write(Self.text(of: head)) else { return false }
            case .head(let head):
                var head = head
                if response.isUnframed(for: method) {
                    isChunked = true
                    head = ResponseHead(
                        status: head.status,
                        fields: head.fields + [Field(name: "Transfer-Encoding", value: "chunked")])
                }
                guard sendHead(Self.text(of: head), response.fault) else { return false }
            case .content(let data):
                guard sendContent(data, isChunked, response.fault) else { return false }
            case .feed(let feed): guard send(feed) else { return false }
            case .failure: return false
            case .stall: return stall()
            }
        }
        return !isChunked || stream.write(Data("0\r\n\r\n".utf8))
    }

    private func sendHead(_ bytes: Data, _ fault: ServerFault?) -> Bool {
        switch fault {
        case .closeInHead(let count):
            _ = stream.write(bytes.prefix(count))
            return false
        case .closeAfterHead:
            _ = stream.write(bytes)
            return false
        default: return stream.write(bytes)
        }
    }

    private func sendContent(_ data: Data, _ isChunked: Bool, _ fault: ServerFault?) -> Bool {
        let frame = { (data: Data) in
            isChunked
                ? Data("\(String(data.count, radix: 16))\r\n".utf8) + data + Data("\r\n".utf8) : data
        }
        switch fault {
        case .closeInBody(let count):
            _ = stream.write(frame(data.prefix(count)))
            return false
        case .resetInBody(let count), .resetStreamInBody(let count, _):
            _ = stream.write(frame(data.prefix(count)))
            descriptor.resetOnClose()
            return false
        case .stallInBody(let count):
            _ = stream.write(frame(data.prefix(count)))
            return stall()
        case .throttle(let rate):
            // Ten pieces a second.
            let size = max(1, rate / 10)
            var rest = data[...]
            while !rest.isEmpty {
                let piece = rest.prefix(size)
                guard stream.write(frame(Data(piece))) else { return false }
                rest = rest.dropFirst(piece.count)
                if !rest.isEmpty {
                    // The rate that the test asked for.
                    Thread.sleep(forTimeInterval: Double(piece.count) / Double(max(1, rate)))
                }
            }
            return true
        default: return stream.write(frame(data))
        }
    }

    /// Reads until the client is gone, and sends nothing.
    private func stall() -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { space in
            while stream.read(into: space) > 0 {}
        }
        return false
    }

    /// Sends what a feed gives, on this thread, until its end.
    private func send(_ feed: ResponseFeed) -> Bool {
        let events = FeedQueue()
        guard feed.listen({ events.add($0) }) else { return false }
        while true {
            switch events.next() {
            case .data(let data): guard sendContent(data, true, nil) else { return false }
            case .finish: return true
            case .failure: return false
            }
        }
    }

    private static func text(of head: ResponseHead) -> Data {
        let fields = head.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        return Data(
            "HTTP/1.1 \(head.status) \(HTTPURLResponse.localizedString(forStatusCode: head.status))\r\n\(fields)\r\n"
                .utf8)
    }
}

extension PlayStep {
    /// The steps of an answer on a wire: a server does its faults itself.
    static func serverSteps(of response: MockResponse, to method: HTTPMethod)
        -> [PlayStep]
    {
        steps(of: response.changed { $0.fault = nil }, to: method)
    }
}

extension MockResponse {
    /// Whether the length of the content is not known, so that it is sent in chunks.
    fileprivate func isUnframed(for method: HTTPMethod) -> Bool {
        guard hasHead, method != .head, status >= 200, status != 204, status != 304 else {
            return false
        }
        guard !fields.contains(where: { $0.name.isEqualIgnoringASCIICase("Content-Length") }) else {
            return false
        }
        return switch content {
        case .pieces, .feed: true
        case .data, .file: false
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

/// Events of a feed for a thread that waits for them.
final class FeedQueue: @unchecked Sendable {
    // SAFETY: the condition's lock guards the events.
    // A condition, since the reader is a thread of its own that may block, and no task.
    private let condition = NSCondition()
    private var events: [ResponseFeed.Event] = []

    func add(_ event: ResponseFeed.Event) {
        condition.lock()
        events.append(event)
        condition.signal()
        condition.unlock()
    }

    func next() -> ResponseFeed.Event {
        condition.lock()
        defer { condition.unlock() }
        while events.isEmpty { condition.wait() }
        return events.removeFirst()
    }
}
