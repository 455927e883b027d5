// One HTTP/2 connection of a mock server (RFC 9113), on libnghttp2.

import CNghttp2
import Dispatch
import Fireweed
import FireweedTransport
package import Foundation
import Glibc
import Synchronization

/// Reads requests on the connection's thread, and answers each request on a separate thread.
package final class HTTP2ServerConnection: @unchecked Sendable {
    // SAFETY: `session`, `streams` and `events` are touched only under the lock, also by nghttp2's callbacks, which run
    // inside calls to nghttp2. Bytes are read on the connection's thread, and written under the lock. For the state of
    // one stream, see `HTTP2ServerStream`.
    private let lock = Mutex(())
    private var session: OpaquePointer?
    private var streams: [Int32: HTTP2ServerStream] = [:]
    private var events: [HTTP2ServerEvent] = []

    private let stream: any ServerStream
    private let descriptor: Int32
    private let recorded: RecordedConnection?
    /// Returns the handler; called for each event, so that no reference to the handler is kept while a thread waits.
    private let handler: @Sendable () -> (any RequestHandler)?
    private static let streamLimit: UInt32 = 100

    package init(
        _ stream: any ServerStream, _ descriptor: Int32, _ recorded: RecordedConnection? = nil,
        handler: @escaping @Sendable () -> (any RequestHandler)?
    ) {
        self.stream = stream
        self.descriptor = descriptor
        self.recorded = recorded
        self.handler = handler
    }

    /// Serves until the connection ends.
    ///
    /// - Parameter bytes: the bytes that were read already.
    package func serve(after bytes: Data) {
        defer { end() }
        guard begin() else { return }
        guard bytes.withUnsafeBytes({ receive($0) }) else { return }
        withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: 16) { space in
            while true {
                let count = stream.read(into: space)
                guard count > 0, receive(UnsafeRawBufferPointer(rebasing: space[..<count])) else { return }
            }
        }
    }

    private func begin() -> Bool {
        lock.withLock { _ in
            let context = Unmanaged.passUnretained(self).toOpaque()
            guard nghttp2_session_server_new(&session, HTTP2Callbacks.table, context) == 0 else { return false }
            let settings = [
                nghttp2_settings_entry(
                    settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: Self.streamLimit)
            ]
            nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
            return flush()
        }
    }

    /// Ends the session: the descriptor is closed afterwards, so threads that are still answering must write nothing
    /// more.
    private func end() {
        lock.withLock { _ in
            for stream in streams.values { stream.close() }
            streams = [:]
            nghttp2_session_del(session)
            session = nil
        }
    }

    /// Processes bytes from the client; false when the connection is over.
    private func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let (isOpen, events) = lock.withLock { _ -> (Bool, [HTTP2ServerEvent]) in
            let pointer = bytes.bindMemory(to: UInt8.self).baseAddress
            let count = nghttp2_session_mem_recv(session, pointer, bytes.count)
            let isFlushed = flush()
            let wants = nghttp2_session_want_read(session) != 0 || nghttp2_session_want_write(session) != 0
            defer { self.events = [] }
            return (count >= 0 && isFlushed && wants, self.events)
        }
        for event in events { handle(event) }
        return isOpen
    }

    /// Sends nghttp2's pending output; called under the lock.
    private func flush() -> Bool {
        guard session != nil else { return false }
        while true {
            var start: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &start)
            guard count > 0, let start else { return count == 0 }
            guard stream.write(Data(bytes: start, count: count)) else { return false }
        }
    }

    // MARK: Requests

    private func handle(_ event: HTTP2ServerEvent) {
        guard !event.stream.isNoted else { return }
        switch event {
        case .head(let stream):
            let request = request(of: stream, withContent: false)
            stream.earlyFault = handler()?.earlyFault(for: request)
            if stream.earlyFault == .closeAfterRequestHead {
                note(request, of: stream)
                return close()
            }
            if request.header("Expect")?.lowercased() == "100-continue" {
                submit(ResponseHead(status: 100, fields: []), on: stream, isInterim: true)
            }
        case .content(let stream):
            guard case .closeInRequestBody(let count) = stream.earlyFault else { return }
            let request = request(of: stream)
            guard request.body.count >= count else { return }
            note(request, of: stream)
            close()
        case .whole(let stream):
            let request = request(of: stream)
            guard let answer = handler()?.take(request) else { return }
            Thread { [self] in respond(answer, to: request.method, on: stream) }.start()
        }
    }

    /// Returns the part of the request that has been received so far.
    private func request(of stream: HTTP2ServerStream, withContent: Bool = true) -> RecordedRequest {
        lock.withLock { _ in
            let authority = stream.authority ?? "localhost"
            let isTunnel = stream.method == "CONNECT"
            let (target, content) = (isTunnel ? authority : stream.path, withContent ? stream.input : Data())
            // The recorded head has the form of HTTP/1.1, since the head's bytes on the wire are compressed.
            let fields = stream.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
            let head = Data("\(stream.method) \(target) HTTP/2\r\n\(fields)\r\n".utf8)
            return RecordedRequest(
                method: stream.method, url: isTunnel ? authority : "\(stream.scheme)://\(authority)\(stream.path)",
                fields: stream.fields, body: content, wireBytes: head + content,
                trailers: stream.trailers, connection: recorded)
        }
    }

    /// Records a request that is not answered because of an early fault.
    private func note(_ request: RecordedRequest, of stream: HTTP2ServerStream) {
        stream.isNoted = true
        _ = handler()?.take(request)
    }

    private func respond(
        _ answer: Result<(MockResponse, RecordedRequest), any Error>, to method: HTTPMethod,
        on stream: HTTP2ServerStream
    ) {
        let response: MockResponse
        switch answer {
        case .failure(let error):
            response = .text("\(error.plainText)\n", status: MockServer.unmatchedStatus)
        case .success(let (stubbed, _)) where stubbed.webSocket != nil:
            response = .text("A MockServer opens WebSockets over HTTP/1.1 alone.\n", status: MockServer.unmatchedStatus)
        case .success(let (stubbed, _)): response = stubbed
        }
        HTTP2ResponseSender(connection: self, stream: stream).send(response, to: method)
    }

    // MARK: Answers

    /// Sends a head; false when the stream or the connection is over.
    ///
    /// For faults, `byteLimit` cuts the head's frame after this many bytes; `nil` sends the whole head.
    @discardableResult
    func submit(_ head: ResponseHead, on stream: HTTP2ServerStream, isInterim: Bool = false, byteLimit: Int? = nil)
        -> Bool
    {
        lock.withLock { _ in
            guard !stream.isClosed, session != nil else { return false }
            HTTP2FieldArray(head).withFields { fields, count in
                if isInterim {
                    nghttp2_submit_headers(
                        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.number, nil, fields, count, nil)
                } else {
                    var provider = nghttp2_data_provider(
                        source: nghttp2_data_source(), read_callback: HTTP2Callbacks.readContent)
                    nghttp2_submit_response(session, stream.number, fields, count, &provider)
                }
            }
            guard let byteLimit else { return flush() }
            var start: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &start)
            if count > 0, let start { _ = self.stream.write(Data(bytes: start, count: min(count, byteLimit))) }
            return false
        }
    }

    /// Adds content, and with `isLast` its end; false when the stream or the connection is over.
    func add(_ content: Data, isLast: Bool, trailers: [Field] = [], on stream: HTTP2ServerStream) -> Bool {
        lock.withLock { _ in
            guard !stream.isClosed, session != nil else { return false }
            stream.output.append(content)
            stream.isWhole = isLast
            stream.ownTrailers = trailers
            nghttp2_session_resume_data(session, stream.number)
            return flush()
        }
    }

    /// Ends a stream (RFC 9113 §5.4.2).
    func reset(_ stream: HTTP2ServerStream, code: UInt32) {
        lock.withLock { _ in
            guard !stream.isClosed, session != nil else { return }
            nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.number, code)
            _ = flush()
        }
    }

    /// Sends GOAWAY for this stream and later ones (RFC 9113 §6.8), and closes.
    func goAway(from stream: HTTP2ServerStream) {
        lock.withLock { _ in
            guard session != nil else { return }
            nghttp2_submit_goaway(
                session, UInt8(NGHTTP2_FLAG_NONE.rawValue), max(0, stream.number - 2), NGHTTP2_NO_ERROR.rawValue, nil, 0
            )
            _ = flush()
        }
        close()
    }

    /// Sends bytes that are no frames, and closes.
    func sendGarbage(_ bytes: Data) {
        lock.withLock { _ in
            guard session != nil else { return }
            _ = stream.write(bytes)
        }
        close()
    }

    /// Closes the sending side; the connection ends when the client closes too, or after two seconds.
    func close() {
        lock.withLock { _ in
            guard session != nil else { return }
            stream.end()
            shutdown(descriptor, Int32(SHUT_WR))
        }
        // A timer stops the reading instead of SO_RCVTIMEO, which has no effect on a thread that is already in recv(2).
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(2)) { [weak self] in self?.stopReading() }
    }

    /// Wakes the reading thread, unless the session has ended, since the descriptor may then be closed.
    private func stopReading() {
        lock.withLock { _ in
            if session != nil { shutdown(descriptor, Int32(SHUT_RD)) }
        }
    }

    /// Resets the connection (RST).
    func reset() {
        lock.withLock { _ in
            guard session != nil else { return }
            descriptor.resetOnClose()
            shutdown(descriptor, Int32(SHUT_RD))  // wakes the reading thread, which closes the descriptor
        }
    }

    // MARK: From nghttp2, under the lock

    func didBegin(_ number: Int32) {
        streams[number] = HTTP2ServerStream(number: number)
    }

    func didReceive(name: String, value: String, on number: Int32) {
        guard let stream = streams[number] else { return }
        if stream.hasHead { stream.trailers.append(Field(name: name, value: value)) } else { stream.add(name, value) }
    }

    func didReceiveHead(on number: Int32) {
        guard let stream = streams[number], !stream.hasHead else { return }
        stream.hasHead = true
        events.append(.head(stream))
    }

    func didReceive(_ content: UnsafeRawBufferPointer, on number: Int32) {
        guard let stream = streams[number] else { return }
        stream.input.append(contentsOf: content)
        events.append(.content(stream))
    }

    func didReceiveEnd(on number: Int32) {
        guard let stream = streams[number] else { return }
        events.append(.whole(stream))
    }

    func didClose(_ number: Int32) {
        streams.removeValue(forKey: number)?.close()
    }

    /// Submits the trailers of a response whose content is sent; false when there are none.
    func submitTrailers(on number: Int32) -> Bool {
        guard let fields = streams[number]?.ownTrailers, !fields.isEmpty else { return false }
        return HTTP2FieldArray(fields).withFields { nghttp2_submit_trailer(session, number, $0, $1) == 0 }
    }

    /// Copies a response's next content into `buffer`; `nil` when there is none yet, and `isLast` at the end.
    func read(_ number: Int32, into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isLast: Bool)? {
        guard let stream = streams[number] else { return (0, true) }
        let piece = stream.output.dropFirst(stream.sentCount).prefix(buffer.count)
        guard !piece.isEmpty || stream.isWhole else { return nil }
        buffer.checkedCopy(from: piece)
        stream.sentCount += piece.count
        if stream.sentCount == stream.output.count { (stream.output, stream.sentCount) = (Data(), 0) }
        return (piece.count, stream.isWhole && stream.output.isEmpty)
    }
}

/// An event on a stream.
enum HTTP2ServerEvent {
    case head(HTTP2ServerStream)
    case content(HTTP2ServerStream)
    case whole(HTTP2ServerStream)

    var stream: HTTP2ServerStream {
        switch self {
        case .head(let stream), .content(let stream), .whole(let stream): stream
        }
    }
}

/// One exchange on a connection.
final class HTTP2ServerStream: @unchecked Sendable {
    // SAFETY: touched only under the connection's lock, except `earlyFault` and `isNoted`, which only the connection's
    // thread touches, and `feedQueue`, which has a lock of its own.
    let number: Int32
    private(set) var method = "GET"
    private(set) var scheme = "http"
    private(set) var path = "/"
    private(set) var authority: String?
    private(set) var fields: [Field] = []
    var hasHead = false
    var input = Data()
    /// The trailers of the request, and of the response.
    var trailers: [Field] = []
    var ownTrailers: [Field] = []
    var output = Data()
    /// The number of sent bytes at the start of `output`; removing them after each frame would copy the rest each time.
    var sentCount = 0
    /// Whether the content ends with `output`.
    var isWhole = false
    private(set) var isClosed = false
    /// The events for which the answering thread waits; the queue has a lock of its own.
    let feedQueue = FeedQueue()
    var earlyFault: ServerFault?
    /// Whether an early fault has ended the exchange; later frames of the request are then ignored.
    var isNoted = false

    init(number: Int32) {
        self.number = number
    }

    /// Ends sending on the stream, and the waits of the answering thread.
    func close() {
        isClosed = true
        feedQueue.close()
    }

    /// Adds a field, or takes a pseudo-header field (RFC 9113 §8.3.1).
    func add(_ name: String, _ value: String) {
        switch name {
        case ":method": method = value
        case ":scheme": scheme = value
        case ":path": path = value
        case ":authority": authority = value
        case "cookie": addCookie(value)
        default: fields.append(Field(name: name, value: value))
        }
    }

    /// Joins the values of `Cookie`, which clients may split for compression (RFC 9113 §8.2.3).
    private func addCookie(_ value: String) {
        guard let index = fields.firstIndex(where: { $0.name == "cookie" }) else {
            return fields.append(Field(name: "cookie", value: value))
        }
        fields[index] = Field(name: "cookie", value: "\(fields[index].value); \(value)")
    }
}
