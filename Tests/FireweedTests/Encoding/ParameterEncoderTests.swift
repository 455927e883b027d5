import Fireweed
import Foundation
import FoundationNetworking
import Testing

@Suite("Encodable parameters in requests")
struct ParameterEncoderTests {
    private let value = ["b": "2", "a": "x y"]

    private func request(_ method: HTTPMethod, _ url: String = "https://h.example/p") throws -> URLRequest {
        try URLRequest(url: url, method: method)
    }

    @Test(
        "forms go where the destination says",
        arguments: [HTTPMethod.get, .head, .delete, .post, .put, .patch, .options, .trace, .query, .connect])
    func destinations(method: HTTPMethod) throws {
        let text = "a=x%20y&b=2"
        for destination in [URLEncodedFormParameterEncoder.Destination.methodDependent, .queryString, .httpBody] {
            let encoder = URLEncodedFormParameterEncoder(destination: destination)
            let encoded = try encoder.encode(value, into: try request(method))
            let isQuery =
                destination == .queryString
                || destination == .methodDependent && [.get, .head, .delete].contains(method)
            #expect(encoded.url?.absoluteString == (isQuery ? "https://h.example/p?\(text)" : "https://h.example/p"))
            #expect(encoded.httpBody == (isQuery ? nil : Data(text.utf8)))
            #expect(
                encoded.headers["Content-Type"] == (isQuery ? nil : "application/x-www-form-urlencoded; charset=utf-8"))
        }
    }

    @Test("a query that is there stays in front, and a type that is there stays")
    func existing() throws {
        let query = try URLEncodedFormParameterEncoder.default.encode(
            value, into: try request(.get, "https://h.example/?z=%26#f"))
        #expect(query.url?.absoluteString == "https://h.example/?z=%26&a=x%20y&b=2#f")
        var typed = try request(.post)
        typed.headers.add(.contentType("x/y"))
        #expect(try URLEncodedFormParameterEncoder.default.encode(value, into: typed).headers["Content-Type"] == "x/y")
        #expect(try JSONParameterEncoder.default.encode(value, into: typed).headers["Content-Type"] == "x/y")
    }

    @Test("nothing to encode changes nothing")
    func none() throws {
        let request = try request(.post)
        #expect(try URLEncodedFormParameterEncoder.default.encode(String?.none, into: request) == request)
        #expect(try JSONParameterEncoder.default.encode(String?.none, into: request) == request)
    }

    @Test("a request without a URL has no place for a form")
    func noURL() throws {
        var request = try request(.get)
        request.url = nil
        let error = #expect(throws: AFError.self) {
            try URLEncodedFormParameterEncoder.default.encode(value, into: request)
        }
        guard case .parameterEncoderFailed(.missingRequiredComponent(.url)) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("JSON is written by the encoder, with its options")
    func json() throws {
        func text(_ encoder: JSONParameterEncoder) throws -> String {
            let encoded = try encoder.encode(value, into: try request(.post))
            #expect(encoded.headers["Content-Type"] == "application/json")
            return String(decoding: try #require(encoded.httpBody), as: UTF8.self)
        }
        #expect(try text(.sortedKeys) == #"{"a":"x y","b":"2"}"#)
        #expect(try text(.prettyPrinted).contains("\n  \"a\" : \"x y\""))
        #expect(try JSONDecoder().decode([String: String].self, from: Data(text(.default).utf8)) == value)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        #expect(try text(.json(encoder: encoder)) == "{\n  \"a\" : \"x y\",\n  \"b\" : \"2\"\n}")
        let error = #expect(throws: AFError.self) {
            try JSONParameterEncoder.default.encode(Double.nan, into: try request(.post))
        }
        #expect(error?.isParameterEncodingError == true && error?.underlyingError is EncodingError)
    }
}
