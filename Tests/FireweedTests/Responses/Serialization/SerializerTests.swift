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

    @Test(
        "JSON without a charset is UTF-8 (RFC 8259 §8.1), and text where it is not",
        arguments: [
            ("application/json", "ü", "ü"), ("application/problem+json; x=y", "ü", "ü"), ("Application/JSON", "ü", "ü"),
            ("application/json; charset=iso-8859-1", "ü", "Ã¼"), ("application/json", "\u{FC}\u{1}", "ü\u{1}"),
            ("application/jsonp", "ü", "Ã¼"),
        ])
    func json(type: String, content: String, expected: String) throws {
        let isLatin = content.hasSuffix("\u{1}")
        let data = isLatin ? content.data(using: .isoLatin1) : Data(content.utf8)
        let text = try StringResponseSerializer().serialize(
            request: nil, response: response(200, ["Content-Type": type]), data: data, error: nil)
        #expect(text == expected)
    }

    @Test(
        "charsets of every region are read",
        arguments: [
            ("iso-8859-2", [0xB1], "ą"), ("iso-8859-5", [0xB0], "А"), ("ISO-8859-7", [0xC1], "Α"),
            ("iso-8859-8", [0xE0], "א"), ("iso-8859-9", [0xD0], "Ğ"), ("iso-8859-15", [0xA4], "€"),
            ("windows-1251", [0xC0], "А"), ("windows-1255", [0xE0], "א"), ("windows-1256", [0xC7], "ا"),
            ("windows-1257", [0xC0], "Ą"), ("windows-1258", [0xD0], "Đ"), ("windows-874", [0xA1], "ก"),
            ("tis-620", [0xA1], "ก"), ("koi8-r", [0xE1], "А"), ("koi8-u", [0xA4], "є"), ("ibm866", [0x80], "А"),
            ("macintosh", [0x8E], "é"), ("gb2312", [0xC4, 0xE3], "你"), ("gbk", [0xC4, 0xE3], "你"),
            ("GB18030", [0x81, 0x30, 0x81, 0x30], "\u{80}"), ("big5", [0xA7, 0x41], "你"),
            ("euc-kr", [0xB0, 0xA1], "가"), ("shift_jis", [0x82, 0xA0], "あ"), ("windows-31j", [0x87, 0x40], "①"),
            ("iso-2022-jp", [0x1B, 0x24, 0x42, 0x24, 0x22, 0x1B, 0x28, 0x42], "あ"),
        ] as [(String, [UInt8], String)])
    func charsets(name: String, bytes: [UInt8], expected: String) throws {
        let text = try StringResponseSerializer().serialize(
            request: nil, response: response(200, ["Content-Type": "text/html; charset=\(name)"]), data: Data(bytes),
            error: nil)
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
