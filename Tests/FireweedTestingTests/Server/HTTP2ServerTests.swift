import FireweedTesting
import Foundation
import Testing

@Suite("Mock servers with HTTP/2", .timeLimit(.minutes(testTimeoutMinutes)))
struct HTTP2ServerTests {
    private func version<Value>(of response: DataResponse<Value, AFError>) -> String? {
        response.metrics?.transactionMetrics.last?.networkProtocolName
    }

    /// A session that speaks HTTP/2 in clear text too.
    private func session(for server: MockServer) -> Session {
        var options = server.transportOptions
        options.httpVersion = .http2
        return Session(configuration: .af.ephemeral, transportOptions: options)
    }

    @Test("HTTP/2 is agreed on over TLS, and one connection carries many requests")
    func agreement() async throws {
        let server = try MockServer.start(certificate: .trusted, http2: true) {
            Stub.get("/{number}").reply { .text($0.parameters["number"] ?? "") }
        }
        let session = server.session()
        let first = await session.request(server.url("/0")).serializingString().response
        #expect(first.value == "0" && version(of: first) == "h2")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...50 {
                group.addTask {
                    let text = try await session.request(server.url("/\(number)")).serializingString().value
                    #expect(text == "\(number)")
                }
            }
            try await group.waitForAll()
        }
        #expect(server.connectionCount == 1 && server.stubs.requests.count == 51)
    }

    @Test("in clear text a client begins with HTTP/2 or with HTTP/1.1")
    func clearText() async throws {
        let server = try MockServer.start(http2: true) { Stub.any().reply(.text("content")) }
        let known = session(for: server)
        let second = await known.request(server.url("/a?b=c")).serializingString().response
        #expect(second.value == "content" && version(of: second) == "h2")
        let ordinary = server.session()
        let first = await ordinary.request(server.url()).serializingString().response
        #expect(first.value == "content" && version(of: first) == "http/1.1")
        #expect(server.stubs.requests.map(\.path) == ["/a", "/"] && server.stubs.requests[0].query("b") == "c")
        let received = String(decoding: server.receivedBytes[0], as: UTF8.self)
        #expect(received.hasPrefix("GET /a?b=c HTTP/2\r\n"))
    }

    @Test("content of both directions comes whole, larger than any window; streams and heads alone too")
    func content() async throws {
        let large = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 13) })
        let feed = ResponseFeed()
        let server = try MockServer.start(certificate: .trusted, http2: true) {
            Stub.post("/echo").reply { .data($0.body) }
            Stub.get("/lines").reply(.stream("one\n", .pause(.milliseconds(1)), "two\n"))
            Stub.get("/feed").reply(.stream(from: feed))
            Stub.head("/head").reply(.text("not sent").header("X-A", "b"))
            Stub.get("/empty").reply(.status(204).interim(103))
        }
        let session = server.session()
        #expect(try await session.upload(large, to: server.url("/echo")).serializingData().value == large)
        var lines: [String] = []
        for try await line in session.streamRequest(server.url("/lines")).lines() { lines.append(line) }
        feed.send("three\n")
        for try await line in session.streamRequest(server.url("/feed")).lines() {
            lines.append(line)
            feed.finish()
        }
        #expect(lines == ["one", "two", "three"])
        let head = await session.request(server.url("/head"), method: .head).serializingData().response
        #expect(head.response?.headers["X-A"] == "b" && head.error == nil)
        let empty = await session.request(server.url("/empty")).serializingData().response
        #expect(empty.response?.statusCode == 204 && empty.error == nil)
        #expect(server.connectionCount == 1)
    }

    struct FaultRow: Sendable, CustomTestStringConvertible {
        let fault: ServerFault
        let codes: Set<URLError.Code>
        /// The connection carries the next request.
        let keepsConnection: Bool
        var testDescription: String { "\(fault)" }

        init(_ fault: ServerFault, keepsConnection: Bool = false, codes: Set<URLError.Code> = [.networkConnectionLost])
        {
            self.fault = fault
            self.codes = codes
            self.keepsConnection = keepsConnection
        }
    }

    @Test(
        "faults end the exchange, or the connection",
        arguments: [
            FaultRow(.closeAfterRequestHead), FaultRow(.closeInRequestBody(after: 3)), FaultRow(.closeBeforeHead),
            FaultRow(.closeInHead(after: 5)), FaultRow(.closeAfterHead), FaultRow(.closeInBody(after: 4)),
            FaultRow(.reset), FaultRow(.resetInBody(after: 4)),
            FaultRow(.garbage(Data("garbage".utf8)), codes: [.networkConnectionLost, .badServerResponse]),
            FaultRow(
                .resetStream(code: 2), keepsConnection: true, codes: [.networkConnectionLost, .badServerResponse]),
            FaultRow(
                .resetStreamInBody(after: 4, code: 2), keepsConnection: true,
                codes: [.networkConnectionLost, .badServerResponse]),
            FaultRow(.stallInBody(after: 4), codes: [.timedOut]),
            FaultRow(.closeInRequestBody(after: -1)), FaultRow(.closeInHead(after: -1)),
            FaultRow(.closeInBody(after: -1)),
        ], [MockCertificate.trusted, nil])
    func faults(row: FaultRow, certificate: MockCertificate?) async throws {
        let server = try MockServer.start(certificate: certificate, http2: true) {
            Stub.post("/").reply(.text("content").fault(row.fault))
            Stub.get("/").reply(.text("fine"))
        }
        let session = session(for: server)
        #expect(try await session.request(server.url()).serializingString().value == "fine")
        let response = await session.request(
            server.url(), method: .post, parameters: ["some": "content"],
            requestModifier: { if row.codes == [.timedOut] { $0.timeoutInterval = 1 } }
        ).serializingData().response
        let error = response.error?.underlyingError as? URLError
        #expect(error.map { row.codes.contains($0.code) } == true, "\(String(describing: response.error))")
        #expect(server.stubs.requests(.post, "/").count == 1 && server.receivedBytes.count == 2)
        #expect(try await session.request(server.url()).serializingString().value == "fine")
        if row.keepsConnection { #expect(server.connectionCount == 1) }
    }

    @Test("a request behind a GOAWAY is answered on another connection")
    func goAway() async throws {
        let server = try MockServer.start(certificate: .trusted, http2: true) {
            Stub.get("/").reply(.text("fine").fault(.goAway), .text("fine"))
        }
        let session = server.session(interceptor: RetryPolicy())
        #expect(try await session.request(server.url()).serializingString().value == "fine")
        #expect(server.connectionCount == 2 && server.stubs.requests.count == 2)
    }

    @Test("a server without HTTP/2 is asked by HTTP/1.1")
    func without() async throws {
        let server = try MockServer.start(certificate: .trusted) { Stub.any().reply(.text("content")) }
        let response = await server.session().request(server.url()).serializingString().response
        #expect(response.value == "content" && version(of: response) == "http/1.1")
    }

    @Test("what no stub matches gets a 501 that says why")
    func unmatched() async throws {
        let server = try MockServer.start(certificate: .trusted, http2: true) { Stub.get("/a") }
        let response = await server.session().request(server.url("/b")).serializingString().response
        #expect(response.response?.statusCode == 501)
        #expect(response.value?.contains("path: expected /a, got /b") == true)
    }
}
