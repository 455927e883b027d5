import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Serialisers and validation")
struct SerializerTests {
    private func response(_ status: Int, _ fields: [String: String] = [:]) throws -> HTTPURLResponse {
        let url = try #require(URL(string: "https://h/"))
        return try #require(
            HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields))
    }

    @Test("an error that is there already is the result")
    func errorFirst() {
        #expect(throws: URLError.self) {
            try DataResponseSerializer().serialize(
                request: nil, response: nil, data: Data([1]), error: URLError(.timedOut))
        }
    }

    @Test(
        "empty content is allowed by method or status, and refused otherwise",
        arguments: [(200, "HEAD", true), (204, "GET", true), (205, "GET", true), (200, "GET", false)])
    func empty(status: Int, method: String, isAllowed: Bool) throws {
        let request = try URLRequest(url: "https://h/", method: HTTPMethod(rawValue: method))
        let answer = try response(status)
        let data = try? DataResponseSerializer().serialize(request: request, response: answer, data: Data(), error: nil)
        #expect((data == Data()) == isAllowed)
        let empty = try? DecodableResponseSerializer<Empty>().serialize(
            request: request, response: answer, data: nil, error: nil)
        #expect((empty != nil) == isAllowed)
    }

    @Test("a type without an empty value says so")
    func invalidEmpty() throws {
        let answer = try response(204)
        #expect(throws: AFError.self) {
            try DecodableResponseSerializer<Int>().serialize(request: nil, response: answer, data: nil, error: nil)
        }
    }

    @Test(
        "text is read in the given encoding, else the response's, else ISO-8859-1",
        arguments: [("text/plain; charset=utf-8", "ü"), ("text/plain; charset=\"UTF-8\"", "ü"), ("text/plain", "Ã¼")])
    func charset(type: String, expected: String) throws {
        let text = try StringResponseSerializer().serialize(
            request: nil, response: response(200, ["Content-Type": type]), data: Data("ü".utf8), error: nil)
        #expect(text == expected)
    }

    @Test("the prefix that guards JSON is dropped")
    func googleXSSI() throws {
        let data = Data(")]}',\n{}".utf8)
        #expect(try GoogleXSSIPreprocessor().preprocess(data) == Data("{}".utf8))
        #expect(try GoogleXSSIPreprocessor().preprocess(Data("{}".utf8)) == Data("{}".utf8))
    }

    @Test(
        "content types are accepted as RFC 9110 §12.5.1 means them",
        arguments: [
            ("application/json", ["application/json"], true),
            ("application/json; charset=utf-8", ["application/*"], true),
            ("text/html", ["application/json", "text/*"], true), ("text/html", ["*/*"], true),
            ("text/html", ["application/json"], false),
            (nil, ["*/*"], true), (nil, ["text/html"], false), ("Text/HTML", ["text/html"], true),
        ])
    func contentTypes(type: String?, acceptable: [String], isAccepted: Bool) async throws {
        let server = try FixtureServer.start()
        server.route("/typed") { _ in
            FixtureResponse(fields: type.map { [("Content-Type", $0)] } ?? [], body: .data(Data("x".utf8)))
        }
        let session = Session.isolated()
        let response = await session.request(server.url("/typed")).validate(contentType: acceptable).serializingData()
            .response
        #expect((response.error == nil) == isAccepted)
    }

    @Test("validations run in order, and the first error stays")
    func order() async throws {
        let server = try FixtureServer.start()
        let session = Session.isolated()
        let request = session.request(server.url("/status/418"))
            .validate { _, _, _ in .failure(URLError(.badServerResponse)) }
            .validate()
        let error = await request.serializingData().response.error
        guard case .responseValidationFailed(.customValidationFailed) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("responses can be mapped, and say what they are")
    func mapping() async throws {
        let server = try FixtureServer.start()
        let session = Session.isolated()
        let response = await session.request(server.url("/bytes/3")).serializingData().response
        #expect(response.map(\.count).value == 3)
        #expect(response.tryMap { _ in throw URLError(.badURL) }.error is URLError)
        #expect(response.mapError { _ in URLError(.badURL) }.value == response.value)
        #expect(
            response.debugDescription.contains("[Request]: GET ")
                && response.debugDescription.contains("[Status Code]: 200"))
    }
}
