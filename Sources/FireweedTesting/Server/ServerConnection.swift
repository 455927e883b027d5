// One connection of a mock server, on a thread of its own.

import Dispatch
import Fireweed
import FireweedTransport
import Foundation
import Glibc

/// Reads requests, and sends their answers with the faults that the test has set.
final class ServerConnection: @unchecked Sendable {
    // SAFETY: only the connection's thread touches the properties.
    private let descriptor: Int32
    /// Weak, so that a waiting thread does not keep the server, which stops when its users release it.
    private weak let server: MockServer?
    private let identity: ServerIdentity?
    private let offersHTTP2: Bool
    private let fault: ConnectionFault?
    private let service: ServiceRules?
    private var recorded: RecordedConnection

    init(descriptor: Int32, server: MockServer, number: Int, fault: ConnectionFault?) {
        recorded = RecordedConnection(number: number, httpVersion: "HTTP/1.1")
        self.descriptor = descriptor
        self.server = server
        identity = server.identity
        offersHTTP2 = server.offersHTTP2
        service = server.service
        self.fault = fault
    }

    /// Serves until the connection ends.
    func serve() {
        var yes: Int32 = 1
        setsockopt(
            descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        if let service { setIdleLimit(service.idleSeconds) }
        let plain = PlainStream(descriptor)
        switch fault {
        case .closeAtAccept: return
        case .resetAtAccept: return descriptor.resetOnClose()
        case .silent: return swallow(plain)
        case .garbage(let bytes):
            _ = plain.write(bytes)
            return lingeringClose(plain)
        case .closeInHandshake:
            _ = withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { plain.read(into: $0) }
            return
        case nil, .some(.none): break
        }
        if let identity {
            if service != nil, beginsInClearText { return refuseClearText(plain) }
            guard let secure = SecureStream(descriptor, identity) else { return }
            secure.describe(in: &recorded)
            serve(secure)
        } else {
            serve(plain)
        }
    }

    /// Whether the client's first byte is not that of a handshake (RFC 8446 §5.1); waits for the byte.
    private var beginsInClearText: Bool {
        var first: UInt8 = 0
        return recv(descriptor, &first, 1, Int32(MSG_PEEK)) == 1 && first != 0x16
    }

    /// Tells a client that speaks HTTP without TLS what is wrong.
    private func refuseClearText(_ plain: PlainStream) {
        var reader = RequestReader(plain, keepsContent: false)
        guard let head = reader.head() else { return }
        let response = MockResponse.text("TLS is spoken here: https:// is meant\n", status: 400)
        _ = refuse(request(head, Data(), false), with: response, head, plain)
    }

    private func serve(_ stream: any ServerStream) {
        var reader = RequestReader(stream, keepsContent: service == nil)
        while let head = reader.head() {
            // The preface of HTTP/2 looks like a request (RFC 9113 §3.4).
            if head.method == "PRI", offersHTTP2 {
                recorded.httpVersion = "HTTP/2"
                return HTTP2ServerConnection(stream, descriptor, recorded) { [weak server = self.server] in server }
                    .serve(after: reader.raw + reader.takeRest())
            }
            recorded.httpVersion = head.version
            guard exchange(head, &reader, stream) else { return }
        }
    }

    /// Ends the connection after so many seconds in which no byte moves; 0 is never.
    private func setIdleLimit(_ seconds: Int) {
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    /// Reads until the client is gone.
    private func swallow(_ stream: any ServerStream) {
        withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: 16) { space in
            while stream.read(into: space) > 0 {}
        }
    }

    /// Closes the sending side, and reads what the client still sends: closing a socket with unread bytes would reset
    /// the connection (RFC 9112 §9.6).
    private func lingeringClose(_ stream: any ServerStream) {
        stream.end()
        shutdown(descriptor, Int32(SHUT_WR))
        var limit = timeval(tv_sec: 2, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        swallow(PlainStream(descriptor))
    }

    // MARK: One exchange

    /// Serves one exchange; false when the connection is over.
    private func exchange(
        _ head: RequestReader.Head, _ reader: inout RequestReader, _ stream: any ServerStream
    ) -> Bool {
        if let (status, reason) = head.refusal {
            server?.record(reader.raw)
            let version = status == 426 ? [HTTPHeader(name: "Sec-WebSocket-Version", value: "13")] : []
            let response = MockResponse.text(reason + "\n", status: status, headers: HTTPHeaders(version))
            return refuse(request(head, Data(), false), with: response, head, stream)
        }
        if head.method == "CONNECT" {
            if service == nil { return tunnel(head, &reader, stream) }
            return refuse(request(head, Data(), false), with: .status(405), head, stream)
        }
        // These faults close the connection without reading the rest of the content, so the answer with the fault is
        // chosen by the request's head only.
        let isWebSocket = head.has("websocket", in: "Upgrade")
        let early = server?.earlyFault(for: request(head, Data(), isWebSocket))
        switch early {
        case .closeAfterRequestHead:
            _ = server?.take(request(head, Data(), isWebSocket, reader.raw))
            return false
        case .closeInRequestBody(let count):
            let content = reader.content(of: head, limit: max(0, count)) ?? Data()
            _ = server?.take(request(head, content, isWebSocket, reader.raw))
            return false
        default: break
        }
        let destination = service?.destination(request(head, Data(), isWebSocket)) ?? .memory
        if case .refused(let response) = destination {
            return refuse(request(head, Data(), isWebSocket), with: response, head, stream)
        }
        if case .memory = destination, let refusal = contentRefusal(head.contentLength ?? 0) {
            return refuse(request(head, Data(), isWebSocket), with: refusal, head, stream)
        }
        if head.has("100-continue", in: "Expect"),
            !stream.write(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        {
            return false
        }
        let whole: RecordedRequest
        switch receive(head, &reader, isWebSocket, to: destination) {
        case .whole(let request): whole = request
        case .refused(let response):
            return refuse(request(head, Data(), isWebSocket), with: response, head, stream)
        case .ended:
            server?.notifyObserver(of: request(head, Data(), isWebSocket), status: nil)
            return false
        }
        let isLast = head.isLast
        switch server?.take(whole) {
        case nil: return false
        case .failure(let error):
            let response = MockResponse.text("\(error.plainText)\n", status: MockServer.unmatchedStatus)
            return ResponseSender(stream, descriptor, head).send(response) && !isLast
        case .success(let (response, known)):
            var response = response
            let script = isWebSocket ? response.webSocket : nil
            if script != nil {
                response.fields.append(ServerWebSocket.agreement(to: head.value("Sec-WebSocket-Key") ?? ""))
            }
            guard ResponseSender(stream, descriptor, head).send(response),
                script != nil || !isLast
            else {
                if response.closesOrderly { lingeringClose(stream) }
                return false
            }
            guard let script else { return true }
            if service != nil { setIdleLimit(0) }
            ServerWebSocket(stream, descriptor, script, known, reader.takeRest()).serve()
            // After a protocol error, the server sends a close frame while the client may still be sending. Closing at
            // once could cause a TCP reset, which could discard that frame before the client reads it.
            lingeringClose(stream)
            return false
        }
    }

    /// Answers a request whose content is not read, and closes.
    private func refuse(
        _ request: RecordedRequest, with response: MockResponse, _ head: RequestReader.Head, _ stream: any ServerStream
    ) -> Bool {
        server?.notifyObserver(of: request, status: response.status)
        var response = response
        if service != nil, !response.fields.contains(where: { $0.name.isEqualIgnoringASCIICase("Date") }) {
            response.fields.append(Field(name: "Date", value: HTTPDate.text(of: Date())))
        }
        _ = ResponseSender(stream, descriptor, head, closes: true).send(response)
        lingeringClose(stream)
        return false
    }

    private enum Reception {
        case whole(RecordedRequest)
        case refused(MockResponse)
        /// The connection ended before the content did, or, on a server of tests, the content cannot be parsed.
        case ended
    }

    /// Returns the answer to content that is too large for the memory of a server of all kinds of clients.
    private func contentRefusal(_ count: Int) -> MockResponse? {
        guard let limit = service?.maximumContentByteCount, count > limit else { return nil }
        return .text("at most \(limit) bytes of content are taken here\n", status: 413)
    }

    /// Reads a request's content.
    private func receive(
        _ head: RequestReader.Head, _ reader: inout RequestReader, _ isWebSocket: Bool,
        to destination: ContentDestination
    ) -> Reception {
        let malformed = MockResponse.text("a chunk is not HTTP\n", status: 400)
        guard case .receiver(let receiver) = destination else {
            guard let content = reader.content(of: head, limit: service.map { $0.maximumContentByteCount + 1 }) else {
                return service != nil && reader.isContentMalformed ? .refused(malformed) : .ended
            }
            if let refusal = contentRefusal(content.count) { return .refused(refusal) }
            return .whole(request(head, content, isWebSocket, reader.raw, reader.trailers))
        }
        var count = 0
        let isWhole = reader.pass(head) { bytes in
            count += bytes.count
            receiver.take(bytes)
        }
        guard isWhole else { return reader.isContentMalformed ? .refused(malformed) : .ended }
        var whole = request(head, Data(), isWebSocket, reader.raw, reader.trailers)
        (whole.receiver, whole.contentByteCount) = (receiver, count)
        return .whole(whole)
    }

    private func request(
        _ head: RequestReader.Head, _ content: Data, _ isWebSocket: Bool, _ wireBytes: Data = Data(),
        _ trailers: [Field] = []
    ) -> RecordedRequest {
        let scheme = identity == nil ? "http" : "https"
        // A target that begins with a slash is a path, whatever its query holds (RFC 9112 §3.2.1).
        let isAbsolute = !TargetText(head.target).scheme.isEmpty
        let url = isAbsolute ? head.target : "\(scheme)://\(head.value("Host") ?? "localhost")\(head.target)"
        return RecordedRequest(
            method: head.method, url: url, fields: head.fields, body: content, isWebSocket: isWebSocket,
            wireBytes: wireBytes, trailers: trailers, connection: recorded)
    }

    // MARK: Proxy

    /// Answers a `CONNECT` (RFC 9110 §9.3.6), and carries bytes both ways until either side ends.
    private func tunnel(
        _ head: RequestReader.Head, _ reader: inout RequestReader, _ stream: any ServerStream
    ) -> Bool {
        server?.record(reader.raw)
        let request = RecordedRequest(
            method: "CONNECT", url: head.target, fields: head.fields, body: Data(), wireBytes: reader.raw,
            connection: recorded)
        server?.stubs.record(request, nil)
        let port = head.target.split(separator: ":").last.flatMap { UInt16($0) }
        guard let port, let peer = ServerSocket.connect(to: port) else {
            return ResponseSender(stream, descriptor, head).send(.status(502))
        }
        guard stream.write(Data("HTTP/1.1 200 Connection established\r\n\r\n".utf8)) else {
            close(peer)
            return false
        }
        let other = PlainStream(peer)
        _ = other.write(reader.takeRest())
        let own = descriptor
        let back = DispatchGroup()
        back.enter()
        Thread {
            Self.carry(from: PlainStream(peer), to: PlainStream(own))
            shutdown(own, Int32(SHUT_RDWR))
            back.leave()
        }.start()
        Self.carry(from: PlainStream(own), to: other)
        shutdown(peer, Int32(SHUT_RDWR))
        // The other thread uses both descriptors until it ends: if they were closed now, their numbers could be reused.
        back.wait()
        close(peer)
        return false
    }

    private static func carry(from source: PlainStream, to target: PlainStream) {
        withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: 16) { space in
            while true {
                let count = source.read(into: space)
                guard count > 0, target.write(Data(space[..<count])) else { return }
            }
        }
    }
}
