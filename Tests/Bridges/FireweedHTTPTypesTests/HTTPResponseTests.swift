// Responses of a session as swift-http-types has them.

import Fireweed
import FireweedHTTPTypes
import FireweedTesting
import FixtureServer
import Foundation
import FoundationNetworking
import HTTPTypes
import Testing

@Suite("Responses of swift-http-types", .timeLimit(.minutes(TestTimeouts.minutes)))
struct HTTPResponseTests {
    private func server(_ response: [UInt8]) throws -> ScriptedServer {
        try ScriptedServer.start([.receiveHead, .sendData(Data(response)), .close])
    }

    @Test("fields keep order, case, duplicates and their bytes")
    func fields() async throws {
        let head = """
            HTTP/1.1 207 All Sorts\r\nSet-Cookie: a=1\r\nX-MiXed: one\r\nx-mixed: two\r\n\
            Set-Cookie: b=2; Expires=Wed, 09 Jun 2027 10:18:14 GMT\r\nX-Raw: \u{1}\r\nContent-Length: 0\r\n\r\n
            """
        var bytes = Array(head.utf8)
        let raw = try #require(bytes.firstIndex(of: 1))
        bytes[raw] = 0xE9
        let server = try server(bytes)
        let session = Session(configuration: .af.ephemeral)
        let response = await session.request(server.url()).serializingData(emptyResponseCodes: [207]).response
        let head2 = try #require(response.httpResponse)
        #expect(head2.status.code == 207)
        #expect(head2.status.reasonPhrase == "All Sorts")
        #expect(
            head2.headerFields.map { "\($0.name.rawName): \($0.value)" }.prefix(4) == [
                "Set-Cookie: a=1", "X-MiXed: one", "x-mixed: two",
                "Set-Cookie: b=2; Expires=Wed, 09 Jun 2027 10:18:14 GMT",
            ])
        #expect(head2.headerFields[values: .setCookie].count == 2)
        let rawField = try #require(head2.headerFields.first { $0.name.rawName == "X-Raw" })
        #expect(rawField.withUnsafeBytesOfValue { Array($0) } == [0xE9])
    }

    @Test("twenty cookies are twenty fields")
    func cookies() async throws {
        let lines = (0..<20).map { "Set-Cookie: n\($0)=v\($0); Path=/\r\n" }.joined()
        let server = try server(Array("HTTP/1.1 200 OK\r\n\(lines)Content-Length: 2\r\n\r\nok".utf8))
        let session = Session(configuration: .af.ephemeral)
        let request = session.request(server.url())
        _ = await request.serializingData().response
        #expect(request.httpResponse?.headerFields[values: .setCookie].count == 20)
    }

    @Test("trailers come with the response, with HTTP/1.1 and HTTP/2", arguments: [false, true])
    func trailers(http2: Bool) async throws {
        let certificate = http2 ? MockCertificate.trusted : nil
        let server = try MockServer.start(certificate: certificate, http2: http2) {
            Stub.any().reply(.text("content").trailer("X-Checksum", "abc"))
        }
        let request = server.session().request(server.url())
        let response = await request.serializingString().response
        #expect(response.value == "content")
        #expect(response.httpTrailers?.map { "\($0.name.canonicalName)=\($0.value)" } == ["x-checksum=abc"])
        #expect(request.httpTrailers == response.httpTrailers)
        let plain = await server.session().download(server.url()).serializingString().response
        #expect(plain.httpTrailers?.count == 1)
    }

    @Test("there is no response before one comes, and none after a failure")
    func none() async throws {
        let session = Session.stubbed { Stub.any().reply(.failure(.cannotConnectToHost)) }
        let request = session.request("https://example.com")
        #expect(request.httpResponse == nil)
        let response = await request.serializingData().response
        #expect(response.httpResponse == nil)
        #expect(response.httpTrailers == nil)
    }

    @Test("a response that a test has made of Foundation's objects has its fields")
    func made() throws {
        let url = try #require(URL(string: "https://example.com"))
        let made = HTTPURLResponse(url: url, statusCode: 204, httpVersion: nil, headerFields: ["X-A": "1"])
        let response = DataResponse<Data, AFError>(
            request: nil, response: made, data: nil, metrics: nil, serializationDuration: 0, result: .success(Data()))
        #expect(response.httpResponse?.status == .noContent)
        #expect(response.httpResponse?.headerFields.map(\.value) == ["1"])
    }
}
