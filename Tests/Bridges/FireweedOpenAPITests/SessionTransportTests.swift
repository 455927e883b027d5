// Operations of a client on the wire: messages, content and errors.

import Fireweed
import FireweedOpenAPI
import FireweedTesting
import FixtureServer
import Foundation
import FoundationNetworking
import HTTPTypes
import OpenAPIRuntime
import Synchronization
import Testing

@Suite("The transport of generated clients", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SessionTransportTests {
    private let transport = SessionTransport()

    private func send(
        _ method: HTTPRequest.Method = .get, _ path: String = "/", _ fields: HTTPFields = [:], body: HTTPBody? = nil,
        to url: URL, by transport: SessionTransport? = nil
    ) async throws -> (HTTPResponse, HTTPBody?) {
        try await (transport ?? self.transport).send(
            HTTPRequest(method: method, scheme: nil, authority: nil, path: path, headerFields: fields), body: body,
            baseURL: url, operationID: "operation")
    }

    private func text(_ body: HTTPBody?) async throws -> String {
        try await String(collecting: try #require(body), upTo: 1 << 20)
    }

    private func scripted(_ head: String, _ content: String = "") throws -> ScriptedServer {
        try ScriptedServer.start([.receiveHead, .send(head + "\r\n\r\n" + content), .close])
    }

    private func base(_ server: MockServer, _ path: String = "") throws -> URL {
        try #require(URL(string: "http://127.0.0.1:\(server.port)\(path)"))
    }

    private func sequence(_ pieces: String...) -> AsyncStream<HTTPBody.ByteChunk> {
        AsyncStream { continuation in
            for piece in pieces { continuation.yield(HTTPBody.ByteChunk(piece.utf8)) }
            continuation.finish()
        }
    }

    // MARK: Messages

    @Test("a request has the URL, the method and the fields of the operation")
    func request() async throws {
        let server = try MockServer.start { Stub.any().reply(.text("pets")) }
        let fields: HTTPFields = [.accept: "application/json", try #require(HTTPField.Name("x-lower")): "é"]
        let (response, body) = try await send(.get, "/pets?limit=2&name=%20", fields, to: try base(server, "/v1"))
        #expect(response.status == .ok)
        #expect(try await text(body) == "pets")
        let sent = try await server.takeRequest(within: TestTimeouts.limit)
        #expect(sent.pathAndQuery == "/v1/pets?limit=2&name=%20")
        #expect(sent.method == .get)
        #expect(sent.fields.contains { $0.name == "x-lower" && $0.value == "é" })
        #expect(sent.header("Accept-Language") == nil)
        #expect(sent.body.isEmpty)
        #expect(sent.header("Content-Length") == nil)
        #expect(sent.header("Transfer-Encoding") == nil)
    }

    @Test("a base URL that ends in a slash doubles it, as with other transports; its query is left out")
    func doubledSlash() async throws {
        let server = try MockServer.start { Stub.any().reply(.ok) }
        _ = try await send(.get, "/pets", to: try base(server, "/v1/"))
        _ = try await send(.get, "/pets", to: try base(server, "/v1?key=1"))
        #expect(try await server.takeRequest(within: TestTimeouts.limit).path == "/v1//pets")
        #expect(try await server.takeRequest(within: TestTimeouts.limit).pathAndQuery == "/v1/pets")
    }

    @Test("the fields of a response keep order, case and duplicates")
    func response() async throws {
        let server = try scripted(
            "HTTP/1.1 404 Nothing Here\r\nSet-Cookie: a=1\r\nX-MiXed: one\r\nx-mixed: two\r\nSet-Cookie: b=2\r\n"
                + "Content-Length: 4", "none")
        let (response, body) = try await send(to: server.url(""))
        #expect(response.status.code == 404)
        #expect(response.status.reasonPhrase == "Nothing Here")
        #expect(
            response.headerFields.map { "\($0.name.rawName)=\($0.value)" } == [
                "Set-Cookie=a=1", "X-MiXed=one", "x-mixed=two", "Set-Cookie=b=2", "Content-Length=4",
            ])
        #expect(body?.length == .known(4))
        #expect(try await text(body) == "none")
    }

    @Test("a response without content has no body, and its connection serves the next request")
    func withoutContent() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"),
            .receiveHead, .send("HTTP/1.1 204 No Content\r\n\r\n"),
            .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
            .receiveHead, .send("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"),
            .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nend"), .hold,
        ])
        #expect(try await send(.head, to: server.url("")).1 == nil)
        #expect(try await send(.delete, to: server.url("")).1 == nil)
        #expect(try await send(to: server.url("")).1 != nil)  // not read
        #expect(try await send(to: server.url("")).1 == nil)
        #expect(try await text(try await send(to: server.url("")).1) == "end")
        #expect(!server.events.events.contains(.accepted(1)))
    }

    @Test("the length of coded content is unknown")
    func codedContent() async throws {
        let coded = Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJBwCGphA2BQAAAA==") ?? Data()
        let server = try ScriptedServer.start([
            .receiveHead,
            .send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(coded.count)\r\n\r\n"),
            .sendData(coded), .close,
        ])
        let (_, body) = try await send(to: server.url(""))
        #expect(body?.length == .unknown)
        #expect(try await text(body) == "hello")
    }

    @Test("no cookies are kept, and no response is stored")
    func withoutState() async throws {
        let server = try MockServer.start {
            Stub.any().reply(.text("x", headers: ["Set-Cookie": "a=1", "Cache-Control": "max-age=600"]))
        }
        for _ in 0..<2 { _ = try await text(try await send(to: try base(server)).1) }
        #expect(server.stubs.requests.count == 2)
        #expect(server.stubs.requests.allSatisfy { $0.header("Cookie") == nil })
    }

    // MARK: Content of requests

    @Test("content of known length has a Content-Length, other content is chunked")
    func content() async throws {
        let server = try MockServer.start { Stub.any().reply(.ok) }
        let url = try base(server)
        _ = try await send(.post, "/known", body: HTTPBody("content"), to: url)
        _ = try await send(
            .post, "/unknown", body: HTTPBody(sequence("con", "", "tent"), length: .unknown), to: url)
        _ = try await send(.post, "/empty", body: HTTPBody(), to: url)
        let known = try await server.takeRequest(within: TestTimeouts.limit)
        #expect(known.text == "content")
        #expect(known.header("Content-Length") == "7")
        #expect(known.header("Transfer-Encoding") == nil)
        let unknown = try await server.takeRequest(within: TestTimeouts.limit)
        #expect(unknown.text == "content")
        #expect(unknown.header("Transfer-Encoding") == "chunked")
        let empty = try await server.takeRequest(within: TestTimeouts.limit)
        #expect(empty.body.isEmpty)
        #expect(empty.header("Content-Length") == "0")
    }

    @Test("after a redirect repeatable content is sent again, and other content fails", arguments: [true, false])
    func redirect(isRepeatable: Bool) async throws {
        let server = try MockServer.start {
            Stub.put("/old").reply(.redirect(to: "/new", status: 307))
            Stub.put("/new").reply { .text($0.text + " again") }
        }
        let body =
            isRepeatable
            ? HTTPBody("content", length: .unknown) : HTTPBody(sequence("con", "tent"), length: .unknown)
        do {
            let (response, answer) = try await send(.put, "/old", body: body, to: try base(server))
            #expect(isRepeatable)
            #expect(response.status == .ok)
            #expect(try await text(answer) == "content again")
        } catch {
            #expect(!isRepeatable)
            #expect(((error as? AFError)?.underlyingError as? URLError)?.code == .requestBodyStreamExhausted)
        }
    }

    struct BodyFailure: Error, Equatable {}

    @Test("an error of the content ends the request, and travels along")
    func failingContent() async throws {
        let server = try ScriptedServer.start([.receiveHead, .hold])
        let stream = AsyncThrowingStream<HTTPBody.ByteChunk, any Error> { continuation in
            continuation.yield([1, 2])
            continuation.finish(throwing: BodyFailure())
        }
        let error = await #expect(throws: AFError.self) {
            try await send(.post, body: HTTPBody(stream, length: .unknown), to: server.url(""))
        }
        let cause = error?.underlyingError as? URLError
        #expect(cause?.userInfo[NSUnderlyingErrorKey] is BodyFailure)
    }

    // MARK: Failures

    @Test("a refused connection fails; under a RetryPolicy it is tried again")
    func refused() async throws {
        let reservation = try ScriptedServer.start([.close])
        let url = reservation.url("")
        reservation.stop()
        let retries = Mutex(0)
        let counter = Interceptor(
            adapters: [],
            retriers: [
                Retrier { _, _, _, completion in
                    let count = retries.withLock { count -> Int in
                        count += 1
                        return count
                    }
                    completion(count < 3 ? .retry : .doNotRetry)
                }
            ])
        let transport = SessionTransport(configuration: .init(interceptor: counter))
        let error = await #expect(throws: AFError.self) { try await send(to: url, by: transport) }
        #expect((error?.underlyingError as? URLError)?.code == .cannotConnectToHost)
        #expect(retries.withLock { $0 } == 3)
    }

    @Test("content that is cut is never joined with that of a retry")
    func cut() async throws {
        let server = try scripted("HTTP/1.1 200 OK\r\nContent-Length: 100", "abc")
        let transport = SessionTransport(configuration: .init(interceptor: RetryPolicy()))
        let (_, body) = try await send(to: server.url(""), by: transport)
        var bytes: [UInt8] = []
        let error = await #expect(throws: AFError.self) {
            for try await piece in try #require(body) { bytes += piece }
        }
        #expect((error?.underlyingError as? URLError)?.code == .networkConnectionLost)
        #expect(String(decoding: bytes, as: UTF8.self) == "abc")
        #expect(!server.events.events.contains(.accepted(1)))
    }

    @Test("the deadline ends an operation before its head, and in its content")
    func deadline() async throws {
        let silent = try ScriptedServer.start([.receiveHead, .hold])
        let transport = SessionTransport(configuration: .init(deadline: .milliseconds(50)))
        let error = await #expect(throws: AFError.self) { try await send(to: silent.url(""), by: transport) }
        #expect((error?.underlyingError as? URLError)?.code == .timedOut)
        let slow = try ScriptedServer.start([.receiveHead, .send("HTTP/1.1 200 OK\r\n\r\nabc"), .hold])
        let patient = SessionTransport(configuration: .init(deadline: .seconds(2)))
        do {
            let (_, body) = try await send(to: slow.url(""), by: patient)
            let later = await #expect(throws: AFError.self) { try await text(body) }
            #expect((later?.underlyingError as? URLError)?.code == .timedOut)
        } catch let error as AFError {
            // On a machine under load the head came too late.
            #expect((error.underlyingError as? URLError)?.code == .timedOut)
        }
    }

    @Test("a URL that is none fails with its text")
    func invalidURL() async throws {
        let base = try #require(URL(string: "http://127.0.0.1"))
        // A path that does not begin as one would go on with host and port.
        for path in [":x/ y", "@a.example/x", ":1/x", ".a.example/x", "1/x"] {
            let error = await #expect(throws: AFError.self) { try await send(.get, path, to: base) }
            #expect(error?.isInvalidURLError == true)
        }
    }

    @Test("a body that is released unread ends its request")
    func released() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"), .hold,
        ])
        _ = try await send(to: server.url(""))
        try await server.events.first { $0 == .closedByPeer(0) }
    }
}
