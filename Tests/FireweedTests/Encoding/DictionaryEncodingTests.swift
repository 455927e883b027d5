import Fireweed
import Foundation
import FoundationNetworking
import Testing

/// A dictionary's value, what URL encoding makes of it, and what JSON does.
struct ValueRow: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let value: any Sendable
    let form: String
    let json: String

    init(_ name: String, _ value: any Sendable, form: String, json: String) {
        (testDescription, self.value, self.form, self.json) = (name, value, form, json)
    }
}

private let some: Int? = 5
private let someTwice: Int?? = 5
private let none: Int? = nil

@Suite("Dictionary values in parameter encodings")
struct DictionaryEncodingTests {
    private static let rows: [ValueRow] = [
        ValueRow("true", true, form: "1", json: "true"), ValueRow("false", false, form: "0", json: "false"),
        ValueRow("1", 1, form: "1", json: "1"), ValueRow("0", 0, form: "0", json: "0"),
        ValueRow("1.0", 1.0, form: "1.0", json: "1"), ValueRow("0.1", 0.1, form: "0.1", json: "0.1"),
        ValueRow("Float", Float(0.1), form: "0.1", json: "0.1"), ValueRow("Int8", Int8(1), form: "1", json: "1"),
        ValueRow("UInt8", UInt8(0), form: "0", json: "0"),
        ValueRow("Int64.max", Int64.max, form: "9223372036854775807", json: "9223372036854775807"),
        ValueRow("Int64.min", Int64.min, form: "-9223372036854775808", json: "-9223372036854775808"),
        ValueRow("UInt64.max", UInt64.max, form: "18446744073709551615", json: "18446744073709551615"),
        ValueRow("NSNumber true", NSNumber(value: true), form: "1", json: "true"),
        ValueRow("NSNumber 1", NSNumber(value: 1), form: "1", json: "1"),
        ValueRow("NSNumber 0", NSNumber(value: 0), form: "0", json: "0"),
        ValueRow("NSNumber Int8", NSNumber(value: Int8(1)), form: "1", json: "1"),
        ValueRow("NSNumber 1.5", NSNumber(value: 1.5), form: "1.5", json: "1.5"),
        ValueRow("Decimal", Decimal(1.5), form: "1.5", json: "1.5"),
        ValueRow("NSNull", NSNull(), form: "<null>", json: "null"),
        ValueRow("text", "a&b", form: "a&b", json: #""a&b""#),
        ValueRow("some", some, form: "5", json: "5"), ValueRow("some of some", someTwice, form: "5", json: "5"),
    ]

    private func encoded(_ value: any Sendable, _ encoding: any ParameterEncoding) throws -> String {
        let request = try encoding.encode(try URLRequest(url: "https://h.example/", method: .post), with: ["a": value])
        return String(decoding: try #require(request.httpBody), as: UTF8.self)
    }

    @Test("numbers stay numbers and truth stays truth", arguments: rows)
    func values(row: ValueRow) throws {
        #expect(try encoded(row.value, URLEncoding.default).removingPercentEncoding == "a=\(row.form)")
        #expect(try encoded(row.value, JSONEncoding.default) == "{\"a\":\(row.json)}")
        #expect(try encoded([row.value], URLEncoding.default).removingPercentEncoding == "a[]=\(row.form)")
        #expect(try encoded(["b": row.value], URLEncoding.default).removingPercentEncoding == "a[b]=\(row.form)")
        #expect(try encoded([row.value], JSONEncoding.default) == "{\"a\":[\(row.json)]}")
    }

    @Test(
        "literal truth is for Booleans, not for ones",
        arguments: [
            (true as any Sendable, "true"), (1, "1"), (NSNumber(value: false), "false"),
            (NSNumber(value: 0), "0"), (1.0, "1.0"),
        ])
    func literals(value: any Sendable, expected: String) throws {
        #expect(try encoded(value, URLEncoding(boolEncoding: .literal)) == "a=\(expected)")
    }

    @Test("nothing is null, in both encodings")
    func nothing() throws {
        #expect(try encoded(none, URLEncoding.default).removingPercentEncoding == "a=<null>")
        #expect(try encoded(none, JSONEncoding.default) == #"{"a":null}"#)
    }

    @Test(
        "what JSON cannot hold is an error, not a trap",
        arguments: [
            Date(), Data([1]), Double.nan, Double.infinity, URL(fileURLWithPath: "/"), [1: "a"], Set([1]), UUID(),
        ]
            as [any Sendable])
    func invalid(value: any Sendable) throws {
        let error = #expect(throws: AFError.self) { try encoded(value, JSONEncoding.default) }
        guard case .parameterEncodingFailed(.jsonEncodingFailed(let cause)) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(cause as? JSONEncoding.Error == .invalidJSONObject)
    }

    @Test("JSON need not be a dictionary, and has its options")
    func objects() throws {
        let request = try URLRequest(url: "https://h.example/", method: .post)
        func text(_ encoding: JSONEncoding, _ object: Any?) throws -> String? {
            try encoding.encode(request, withJSONObject: object).httpBody.map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(try text(.default, [1, "a", NSNull()]) == #"[1,"a",null]"#)
        #expect(try text(.default, nil) == nil)
        #expect(try text(JSONEncoding(options: .sortedKeys), ["b": 1, "a": 2]) == #"{"a":2,"b":1}"#)
        #expect(try text(.prettyPrinted, ["a": 1]) == "{\n  \"a\" : 1\n}")
        #expect(throws: AFError.self) { try text(.default, "no container") }
    }

    @Test("components of a parameter come escaped, in order")
    func components() {
        let encoding = URLEncoding(arrayEncoding: .indexInBrackets, boolEncoding: .literal)
        let parameter: [String: Any] = ["b": [true, "x y"], "a": ["c": 1]]
        let components = encoding.queryComponents(fromKey: "p", value: parameter)
        #expect(
            components.map { "\($0.0)=\($0.1)" } == [
                "p%5Ba%5D%5Bc%5D=1", "p%5Bb%5D%5B0%5D=true", "p%5Bb%5D%5B1%5D=x%20y",
            ])
    }

    @Test("destinations, types and a missing URL")
    func requests() throws {
        for (encoding, method, isQuery) in [
            (URLEncoding.default, HTTPMethod.get, true), (.default, .post, false), (.queryString, .post, true),
            (.httpBody, .get, false),
        ] {
            let request = try encoding.encode(try URLRequest(url: "https://h.example/", method: method), with: ["a": 1])
            #expect((request.url?.query == "a=1") == isQuery && (request.httpBody == Data("a=1".utf8)) == !isQuery)
        }
        let plain = try URLRequest(url: "https://h.example/?q", method: .get)
        #expect(try URLEncoding.default.encode(plain, with: nil) == plain)
        #expect(try URLEncoding.default.encode(plain, with: [:]) == plain)
        var nowhere = plain
        nowhere.url = nil
        let error = #expect(throws: AFError.self) { try URLEncoding.default.encode(nowhere, with: ["a": 1]) }
        guard case .parameterEncodingFailed(.missingURL) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
