// Requests of swift-http-types on the wire.

import Fireweed
import FireweedHTTPTypes
import FireweedTesting
import FixtureServer
import Foundation
import FoundationNetworking
import HTTPTypes
import Testing

@Suite("Requests of swift-http-types", .timeLimit(.minutes(TestTimeouts.minutes)))
struct HTTPRequestTests {
    private let server: MockServer

    init() throws {
        server = try MockServer.start { Stub.any().reply(.ok) }
    }

    private func request(_ method: HTTPRequest.Method, _ path: String, _ fields: HTTPFields = [:]) -> HTTPRequest {
        HTTPRequest(
            method: method, scheme: "http", authority: "127.0.0.1:\(server.port)", path: path, headerFields: fields)
    }

    private func received() async throws -> RecordedRequest {
        try await server.takeRequest(within: TestTimeouts.limit)
    }

    @Test("a thousand generated requests arrive as they were made")
    func roundTrip() async throws {
        let session = server.session()
        var generator = SeededGenerator(seed: 20_261_128)
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&'*+-.^_`|~")
        let values = ["", "plain", "two words", "a,b", "é", "日本", "\"quoted\"", "x=1; y=2", "a\tb"]
        for _ in 0..<1_000 {
            var fields = HTTPFields()
            for _ in 0..<Int.random(in: 0...6, using: &generator) {
                let name =
                    "X-"
                    + String(
                        (0..<Int.random(in: 1...9, using: &generator)).map { _ in
                            letters.randomElement(using: &generator) ?? "a"
                        })
                let field = try #require(HTTPField.Name(name))
                guard !fields.contains(field) else { continue }
                fields.append(HTTPField(name: field, value: values.randomElement(using: &generator) ?? ""))
            }
            let method = try #require(
                ["GET", "POST", "DELETE", "REPORT", "x-made-up"].randomElement(using: &generator)
                    .flatMap { HTTPRequest.Method($0) })
            let path = "/\(Int.random(in: 0...99, using: &generator))?q=%20\(Int.random(in: 0...9, using: &generator))"
            let response = await session.request(request(method, path, fields)).serializingData().response
            #expect(response.httpResponse?.status == .ok)
            let sent = try await received()
            #expect(sent.method.rawValue == method.rawValue)
            #expect(sent.pathAndQuery == path)
            let own = sent.fields.filter { $0.name.hasPrefix("X-") }
            #expect(own.map(\.name) == fields.map(\.name.rawName))
            #expect(own.map(\.value) == fields.map(\.value))
            #expect(!String(decoding: sent.wireBytes, as: UTF8.self).contains("\r\n:"))
        }
    }

    @Test("fields of one name are joined, those of Cookie by a semicolon, and names keep their case")
    func duplicates() async throws {
        var fields = HTTPFields()
        for (name, value) in [
            ("x-lower", "1"), ("Accept", "text/a"), ("cookie", "a=1"), ("accept", "text/b"), ("Cookie", "b=2"),
        ] {
            fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        let report = try #require(HTTPRequest.Method("REPORT"))
        _ = await server.session().request(request(report, "/", fields)).serializingData().response
        let sent = try await received()
        #expect(sent.fields.filter { $0.name == "x-lower" }.map(\.value) == ["1"])
        #expect(sent.fields.filter { $0.name.lowercased() == "accept" }.map(\.value) == ["text/a, text/b"])
        #expect(sent.fields.filter { $0.name.lowercased() == "cookie" }.map(\.value) == ["a=1; b=2"])
        #expect(sent.method.rawValue == "REPORT")
    }

    @Test("text in values leaves as UTF-8, whose bytes HTTPTypesFoundation would double")
    func utf8() async throws {
        let fields: HTTPFields = [try #require(HTTPField.Name("X-Name")): "é"]
        _ = await server.session().request(request(.get, "/", fields)).serializingData().response
        let wire = try await received().wireBytes
        #expect(wire.range(of: Data("X-Name: ".utf8) + [0xC3, 0xA9, 0x0D, 0x0A]) != nil)
    }

    @Test("content and downloads go with such a request")
    func content() async throws {
        let session = server.session()
        let post = request(.post, "/things", [.contentType: "text/plain"])
        _ = await session.upload(Data("content".utf8), with: post).serializingData().response
        let sent = try await received()
        #expect(sent.text == "content")
        #expect(sent.header("Content-Type") == "text/plain")
        let download = await session.download(request(.get, "/file")).serializingData().response
        #expect(download.httpResponse?.status == .ok)
        for try await _ in session.streamRequest(request(.get, "/stream")).content() {}
        #expect(try await received().path == "/file")
        #expect(try await received().path == "/stream")
    }

    @Test(
        "requests without a URL of a resource fail as invalid URLs",
        arguments: [
            HTTPRequest(method: .get, scheme: nil, authority: "example.com", path: "/"),
            HTTPRequest(method: .get, scheme: "https", authority: nil, path: "/"),
            HTTPRequest(method: .options, scheme: "https", authority: "example.com", path: "*"),
            HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "users"),
            HTTPRequest(method: .get, scheme: "https", authority: "example.com/a?", path: "/users"),
            HTTPRequest(method: .get, scheme: "https", authority: "u@example.com", path: "/users"),
            extendedConnect,
        ])
    func invalid(request: HTTPRequest) async {
        let response = await server.session().request(request).serializingData().response
        #expect(response.error?.isInvalidURLError == true)
        #expect(throws: AFError.self) { try request.asURLRequest() }
    }

    private static let extendedConnect: HTTPRequest = {
        var request = HTTPRequest(method: .connect, scheme: "https", authority: "example.com", path: "/chat")
        request.extendedConnectProtocol = "websocket"
        return request
    }()

    @Test("a request of Foundation's becomes one of swift-http-types, and returns as it was")
    func fromURLRequest() throws {
        var original = try URLRequest(url: "https://example.com:8443/a%20b?c=d#e", method: .put)
        original.headers.add(name: "X-Name", value: "é")
        let request = try #require(HTTPRequest(original))
        #expect(request.method == .put)
        #expect(request.scheme == "https")
        #expect(request.authority == "example.com:8443")
        #expect(request.path == "/a%20b?c=d")
        #expect(request.headerFields[try #require(HTTPField.Name("x-name"))] == "é")
        let back = try request.asURLRequest()
        #expect(back.url?.absoluteString == "https://example.com:8443/a%20b?c=d")
        #expect(back.headers["X-Name"] == "é")
        original.url = URL(string: "relative/path")
        #expect(HTTPRequest(original) == nil)
    }

    @Test("methods keep their case in both directions")
    func methods() {
        #expect(HTTPMethod(HTTPRequest.Method.patch) == .patch)
        #expect(HTTPRequest.Method(HTTPMethod.query)?.rawValue == "QUERY")
        #expect(HTTPRequest.Method(HTTPMethod(rawValue: "no token")) == nil)
    }
}
