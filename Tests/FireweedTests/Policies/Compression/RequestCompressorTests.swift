import Fireweed
import FireweedTesting
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

@Suite("Request compression", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RequestCompressorTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    /// What Python makes of a content coding: the length and the SHA-256 of the plain form.
    private struct Plain: Decodable, Equatable {
        let count: Int
        let sum: String
    }

    private static let inflate = """
        import gzip, hashlib, json, sys, zlib
        data = sys.stdin.buffer.read()
        plain = gzip.decompress(data) if data[:2] == b"\\x1f\\x8b" else zlib.decompress(data)
        print(json.dumps({"count": len(plain), "sum": hashlib.sha256(plain).hexdigest()}))
        """
    private static let sum = """
        import hashlib, json, sys
        plain = sys.stdin.buffer.read()
        print(json.dumps({"count": len(plain), "sum": hashlib.sha256(plain).hexdigest()}))
        """

    /// Compressible, but with something new in every line.
    private func content(_ count: Int) -> Data {
        var generator = SeededGenerator(seed: 7)
        var data = Data()
        while data.count < count { data += Data("line \(generator.next() % 100_000) of the content\n".utf8) }
        return data.prefix(count)
    }

    private func request(_ path: String = "/anything", content: Data?) throws -> URLRequest {
        var request = try URLRequest(url: server.url(path), method: .post, headers: ["Content-Type": "text/plain"])
        request.httpBody = content
        return request
    }

    private func send(_ request: URLRequest, _ compressor: any RequestInterceptor) async -> DataResponse<Data, AFError>
    {
        let session = Session.isolated()
        return await session.request(request, interceptor: compressor).serializingData().response
    }

    @Test(
        "an independent decoder finds what was put in, whatever its size",
        arguments: [0, 1, 100, 65_536, 65_537, 5_000_000], ["deflate", "gzip"])
    func decodes(count: Int, coding: String) async throws {
        let plain = content(count)
        let compressor: any RequestInterceptor = coding == "gzip" ? .gzipCompressor : .deflateCompressor
        #expect(await send(try request(content: plain), compressor).error == nil)
        let received = try #require(server.requests.last)
        #expect(received.field("Content-Encoding") == coding)
        #expect(received.field("Content-Length") == "\(received.body.count)")
        #expect(received.body.prefix(2) == (coding == "gzip" ? Data([0x1F, 0x8B]) : Data([0x78, 0x5E])))
        #expect(count < 1000 || received.body.count < count / 2)
        let decoded = try await Program.python(Self.inflate, input: received.body, as: Plain.self, in: folder.url)
        #expect(try await decoded == Program.python(Self.sum, input: plain, in: folder.url))
    }

    @Test("a stream is compressed while it is sent, in chunks", arguments: ["deflate", "gzip"])
    func stream(coding: String) async throws {
        let plain = content(3_000_000)
        var request = try request(content: nil)
        request.httpBodyStream = InputStream(data: plain)
        request.headers.add(name: "Content-Length", value: "\(plain.count)")
        let compressor: any RequestInterceptor = coding == "gzip" ? .gzipCompressor : .deflateCompressor
        #expect(await send(request, compressor).error == nil)
        let received = try #require(server.requests.last)
        #expect(received.field("Transfer-Encoding") == "chunked" && received.field("Content-Length") == nil)
        #expect(received.field("Content-Encoding") == coding)
        let decoded = try await Program.python(Self.inflate, input: received.body, as: Plain.self, in: folder.url)
        #expect(try await decoded == Program.python(Self.sum, input: plain, in: folder.url))
    }

    @Test("a stream that fails ends the request with its error")
    func brokenStream() async throws {
        var request = try request(content: nil)
        request.httpBodyStream = InputStream(fileAtPath: folder.file("none").path)
        #expect(await send(request, .gzipCompressor).error?.urlErrorCode == .requestBodyStreamExhausted)
    }

    @Test(
        "a request that is coded already is refused, coded anew or left alone",
        arguments: [DeflateRequestCompressor.DuplicateHeaderBehavior.error, .replace, .skip], [true, false])
    func duplicates(behavior: DeflateRequestCompressor.DuplicateHeaderBehavior, isGzip: Bool) async throws {
        var request = try request(content: Data("plain".utf8))
        request.headers.add(.contentEncoding("identity"))
        let compressor: any RequestInterceptor =
            isGzip
            ? .gzipCompressor(duplicateHeaderBehavior: behavior) : .deflateCompressor(duplicateHeaderBehavior: behavior)
        let response = await send(request, compressor)
        switch behavior {
        case .error:
            #expect(response.error?.isRequestAdaptationError == true)
            #expect(response.error?.underlyingError is DeflateRequestCompressor.DuplicateHeaderError)
            #expect(server.connectionCount == 0)
        case .replace:
            #expect(server.requests.last?.field("Content-Encoding") == (isGzip ? "gzip" : "deflate"))
            #expect(server.requests.last?.body != Data("plain".utf8))
        case .skip:
            #expect(server.requests.last?.field("Content-Encoding") == "identity")
            #expect(server.requests.last?.body == Data("plain".utf8))
        }
    }

    @Test("the closure sees the content and decides", arguments: [true, false])
    func predicate(isWanted: Bool) async throws {
        let seen = ProtectedList<Data>()
        let compressor = DeflateRequestCompressor(shouldCompressBodyData: {
            seen.append($0)
            return isWanted
        })
        #expect(await send(try request(content: Data("plain".utf8)), compressor).error == nil)
        #expect(seen.all == [Data("plain".utf8)])
        #expect(server.requests.last?.field("Content-Encoding") == (isWanted ? "deflate" : nil))
        #expect((server.requests.last?.body == Data("plain".utf8)) == !isWanted)
    }

    @Test("a request without content, and an upload's own content, stay as they are")
    func untouched() async throws {
        let session = Session.isolated(interceptor: .deflateCompressor)
        _ = await session.request(server.url("/anything")).serializingData().response
        #expect(server.requests.last?.field("Content-Encoding") == nil)
        _ = await session.upload(Data("plain".utf8), to: server.url("/anything")).serializingData().response
        #expect(server.requests.last?.field("Content-Encoding") == nil)
        #expect(server.requests.last?.body == Data("plain".utf8))
    }

    @Test("a retry compresses anew, and a redirect sends the compressed form again")
    func again() async throws {
        let attempts = Mutex(0)
        server.route("/flaky") { _ in
            FixtureResponse(
                status: attempts.withLock {
                    $0 += 1; return $0
                } == 1 ? 503 : 200)
        }
        var request = try request("/flaky", content: content(1000))
        request.method = .put
        let session = Session.isolated(
            interceptor: .interceptor(
                adapters: [DeflateRequestCompressor()],
                retriers: [RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0)]))
        let response = await session.request(request).validate().serializingData(emptyResponseCodes: [200]).response
        #expect(response.error == nil)
        #expect(server.requests.count == 2 && server.requests[0].body == server.requests[1].body)
        request.url = server.url("/redirect-to?url=/anything&status_code=307")
        _ = await session.request(request).serializingData().response
        #expect(server.requests.last?.path == "/anything")
        #expect(server.requests.last?.field("Content-Encoding") == "deflate")
        #expect(server.requests.last?.body == server.requests.first?.body)
    }
}
