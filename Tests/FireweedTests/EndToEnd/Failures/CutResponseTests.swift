import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Responses that are cut", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CutResponseTests {
    /// Asks once for each of these answers, each of which ends with its connection; gives those that were taken for
    /// whole.
    private func successes(_ answers: [Data]) async throws -> [Int] {
        let server = try ScriptedServer.start(scripts: answers.map { [.receiveHead, .sendData($0), .close] })
        let session = Session.isolated()
        var successes: [Int] = []
        for number in answers.indices {
            let response = await session.request(server.url()).plainResponse()
            if response.error == nil { successes.append(number) }
        }
        return successes
    }

    @Test("inside the head are errors, at every byte")
    func head() async throws {
        let fields = (0..<12).map { "X-Field-\($0): \(String(repeating: "v", count: $0))\r\n" }.joined()
        let head = Data("HTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\n\(fields)\r\n".utf8)
        #expect(try await successes((0..<head.count).map { head.prefix($0) }) == [])
    }

    @Test(
        "inside content that ends with the connection are errors, at every byte of its coding",
        arguments: ["gzip", "deflate", "br", "zstd"])
    func coding(name: String) async throws {
        let text = "a text that is long enough for a coding, long enough, long enough"
        let coded = try await Self.coded(text, name)
        let head = Data("HTTP/1.1 200 OK\r\nContent-Encoding: \(name)\r\n\r\n".utf8)
        #expect(try await successes((0..<coded.count).map { head + coded.prefix($0) }) == [])
        let server = try ScriptedServer.start([.receiveHead, .sendData(head + coded), .close])
        let session = Session.isolated()
        #expect(try await session.request(server.url()).serializingString().value == text)
    }

    private static func coded(_ text: String, _ name: String) async throws -> Data {
        switch name {
        case "br": return try #require(CodingEndpoints.brotli(Data(text.utf8)))
        case "zstd": return try #require(CodingEndpoints.zstd(Data(text.utf8)))
        default: break
        }
        let server = try FixtureServer.start()
        let compressor: any RequestInterceptor = name == "gzip" ? GzipRequestCompressor() : DeflateRequestCompressor()
        var request = try URLRequest(url: server.url("/anything"), method: .post)
        request.httpBody = Data(text.utf8)
        let session = Session.isolated(interceptor: compressor)
        _ = try await session.request(request).serializingData().value
        return try #require(server.requests.first?.body)
    }

    @Test(
        "that do not begin with a status line are errors",
        arguments: [
            "http/1.1 200 OK", "HTTP/2 20", "HTTP/ 1.1 200", "HTTP/1.1 200OK", "HTTP/1.1 2000",
            "HTTP/1.1\t200 OK",
        ])
    func statusLine(line: String) async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send("\(line)\r\nContent-Length: 5\r\n\r\nhello"), .close,
        ])
        let session = Session.isolated()
        let response = await session.request(server.url()).plainResponse()
        #expect(response.error?.urlErrorCode == .badServerResponse, "\(response)")
        #expect(response.response == nil && response.data == nil)
    }

    @Test("after a challenge that was answered are errors, and no 401")
    func afterChallenge() async throws {
        let server = try ScriptedServer.start([
            .receiveHead,
            .send("HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\nContent-Length: 0\r\n\r\n"),
            .receiveHead, .send("HTTP/1.1 200 OK\r\nA: "), .close,
        ])
        let session = Session.isolated()
        let response = await session.request(server.url())
            .authenticate(username: "u", password: "p").plainResponse()
        #expect(response.error?.urlErrorCode == .networkConnectionLost, "\(response)")
    }
}

extension DataRequest {
    /// The response without validation or serialising.
    fileprivate func plainResponse() async -> AFDataResponse<Data?> {
        await withCheckedContinuation { continuation in response { continuation.resume(returning: $0) } }
    }
}
