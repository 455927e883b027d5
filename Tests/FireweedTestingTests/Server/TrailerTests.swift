import FireweedTesting
import Foundation
import Testing

/// Fields behind content (RFC 9110 §6.5).
@Suite("Trailers", .timeLimit(.minutes(testTimeoutMinutes)))
struct TrailerTests {
    /// Performs one exchange on a transport, and gives the end of the transfer.
    private func end(of message: RequestMessage, on transport: any Transport) async -> (content: Data, TransferEnd) {
        await withCheckedContinuation { continuation in
            let consumer = EndNoting { continuation.resume(returning: ($0, $1)) }
            transport.makeTransfer(of: message, for: consumer).start(.undecided)
        }
    }

    private static let response = MockResponse.text("content").trailer("X-Checksum", "17").trailer("X-Checksum", "18")

    private static let answers: [MockResponse] = [
        response, MockResponse.stream("con", "tent").trailer("x-checksum", "17").trailer("x-checksum", "18"),
    ]

    @Test("behind a response's content reach the client, over each version of HTTP", arguments: answers, [false, true])
    func response(answer: MockResponse, hasHTTP2: Bool) async throws {
        let server = try MockServer.start(http2: hasHTTP2) { Stub.any().reply(answer) }
        var options = server.transportOptions
        if hasHTTP2 { options.httpVersion = .http2 }
        let transport = EngineTransport(settings: PoolSettings(options: options))
        // The connection is in order afterwards.
        for _ in 0..<2 {
            let (content, end) = await end(of: RequestMessage(url: server.url().absoluteString), on: transport)
            #expect(end.failure == nil && content == Data("content".utf8))
            let trailers = (end.trailers?.fields ?? []).map { "\($0.name.lowercased()): \($0.value)" }
            #expect(trailers == ["x-checksum: 17", "x-checksum: 18"])
        }
        #expect(server.connectionCount == 1)
    }

    @Test("behind a stub's content reach the session's transport")
    func stub() async throws {
        let transport = StubTransport { Stub.any().reply(Self.response) }
        let (_, end) = await end(of: RequestMessage(url: "https://api.example.com/"), on: transport)
        #expect(end.trailers?.fields.map(\.value) == ["17", "18"])
    }

    @Test("are not sent where there is no content", arguments: ["HEAD", "GET"], [false, true])
    func withoutContent(method: String, hasHTTP2: Bool) async throws {
        let answer = method == "HEAD" ? Self.response : MockResponse(status: 204).trailer("X-A", "b")
        let server = try MockServer.start(http2: hasHTTP2) { Stub.any().reply(answer) }
        var options = server.transportOptions
        if hasHTTP2 { options.httpVersion = .http2 }
        let message = RequestMessage(url: server.url().absoluteString, method: method)
        let (content, end) = await end(of: message, on: EngineTransport(settings: PoolSettings(options: options)))
        #expect(end.failure == nil && content.isEmpty && end.trailers == nil)
    }

    @Test("behind a request's content are recorded")
    func request() async throws {
        let server = try MockServer.start { Stub.any() }
        let text = "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        let content = "4\r\nWiki\r\n0\r\nX-Checksum: 17\r\nno field\r\nx-more:  a b \r\n\r\n"
        _ = await RawClient.send(Data((text + content).utf8), to: server.port)
        let request = try await server.takeRequest()
        #expect(request.text == "Wiki" && request.trailers.map(\.name) == ["X-Checksum", "x-more"])
        #expect(request.trailers.map(\.value) == ["17", "a b"] && request.header("X-Checksum") == nil)
    }

    @Test("behind a request's content are recorded over HTTP/2")
    func requestOverHTTP2() async throws {
        let server = try MockServer.start(http2: true) { Stub.any() }
        /// A frame of stream 1, or of the connection (RFC 9113 §4.1).
        func frame(_ type: UInt8, flags: UInt8, stream: UInt8 = 1, _ payload: [UInt8]) -> [UInt8] {
            [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, stream] + payload
        }
        /// A field whose name is not in HPACK's table (RFC 7541 §6.2.2).
        func field(_ name: String, _ value: String) -> [UInt8] {
            [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
        }
        let head = field(":method", "POST") + field(":scheme", "http") + field(":path", "/") + field(":authority", "a")
        var bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + frame(4, flags: 0, stream: 0, [])
        bytes += frame(1, flags: 4, head) + frame(0, flags: 0, Array("Wiki".utf8))
        bytes += frame(1, flags: 5, field("x-checksum", "17"))
        // A bad frame ends the connection, and with it the client.
        bytes += frame(1, flags: 4, stream: 0, [])
        _ = await RawClient.send(Data(bytes), to: server.port)
        let request = try await server.takeRequest()
        #expect(request.text == "Wiki" && request.trailers == [Field(name: "x-checksum", value: "17")])
    }
}

/// Takes an exchange whole.
private final class EndNoting: TransferConsumer, @unchecked Sendable {
    // SAFETY: a transfer calls one method at a time.
    private var content = Data()
    private let tell: @Sendable (Data, TransferEnd) -> Void

    init(tell: @escaping @Sendable (Data, TransferEnd) -> Void) {
        self.tell = tell
    }

    func transferDidReceive(_ head: ResponseHead) -> Flow { .undecided }

    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow {
        self.content.append(contentsOf: content.bytes)
        return .undecided
    }

    func transferDidFinish(_ end: consuming TransferEnd) { tell(content, end) }
}
