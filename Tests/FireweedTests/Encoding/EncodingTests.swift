import Fireweed
import Foundation
import Testing

@Suite("Parameters as dictionaries")
struct ParameterEncodingTests {
    private func query(_ parameters: Parameters, _ encoding: URLEncoding = .default, url: String = "https://h/") throws
        -> String?
    {
        let request = try encoding.encode(URLRequest(url: #require(URL(string: url))), with: parameters)
        return URLComponents(url: try #require(request.url), resolvingAgainstBaseURL: false)?.percentEncodedQuery
    }

    @Test("values are written as documented, keys sorted")
    func values() throws {
        #expect(try query(["b": 1, "a": "x y"]) == "a=x%20y&b=1")
        #expect(try query(["a": [1, 2]]) == "a%5B%5D=1&a%5B%5D=2")
        let nested: Parameters = ["c": 1, "b": true]
        #expect(try query(["a": nested]) == "a%5Bb%5D=1&a%5Bc%5D=1")
        #expect(try query(["a": true]) == "a=1")
        #expect(try query(["a": 1.0]) == "a=1.0")
        #expect(try query(["a": Int64.max]) == "a=9223372036854775807")
        #expect(try query(["a": NSNumber(value: true)]) == "a=1")
        let optional: String? = "x"
        #expect(try query(["a": optional]) == "a=x")
    }

    @Test("options change arrays and Booleans")
    func options() throws {
        #expect(try query(["a": [1, 2]], URLEncoding(arrayEncoding: .noBrackets)) == "a=1&a=2")
        #expect(try query(["a": [1, 2]], URLEncoding(arrayEncoding: .indexInBrackets)) == "a%5B0%5D=1&a%5B1%5D=2")
        #expect(try query(["a": [1]], URLEncoding(arrayEncoding: .custom { "\($0).\($1)" })) == "a.0=1")
        #expect(try query(["a": false], URLEncoding(boolEncoding: .literal)) == "a=false")
    }

    @Test("an existing query stays in front")
    func existing() throws {
        #expect(try query(["b": "2"], url: "https://h/?a=1") == "a=1&b=2")
    }

    @Test("everything but the documented characters is escaped")
    func escaping() {
        let all = String(String.UnicodeScalarView((0x20..<0x7F).compactMap(UnicodeScalar.init)))
        let kept = URLEncoding.default.escape(all).replacing(#/%[0-9A-F]{2}/#, with: "")
        #expect(Set(kept) == Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/?"))
        #expect(URLEncoding.default.escape("日本 &=+#") == "%E6%97%A5%E6%9C%AC%20%26%3D%2B%23")
    }

    @Test("JSON takes what JSON can hold, and refuses the rest without a trap")
    func json() throws {
        let url = try #require(URL(string: "https://h/"))
        let request = try JSONEncoding.default.encode(try URLRequest(url: url, method: .post), with: ["a": [1, 2]])
        #expect(request.httpBody == Data(#"{"a":[1,2]}"#.utf8))
        #expect(request.headers["Content-Type"] == "application/json")
        #expect(throws: AFError.self) {
            try JSONEncoding.default.encode(URLRequest(url: url, method: .post), with: ["a": Date()])
        }
    }
}

@Suite("Values as forms")
struct URLEncodedFormEncoderTests {
    private struct Inner: Encodable { var b = 1 }
    private struct Value: Encodable {
        var text = "a b&c"
        var flag = true
        var list = [1, 2]
        var inner = Inner()
        var nothing: String?
        var data = Data([1, 2, 3])
    }

    private struct Keyed: Encodable { var oneTwoThree = 1 }
    private struct Dated: Encodable { var date = Date(timeIntervalSince1970: 123.5) }

    private func text(_ encoder: URLEncodedFormEncoder, _ value: some Encodable = Value()) throws -> String {
        try encoder.encode(value)
    }

    @Test("the defaults are the documented ones")
    func defaults() throws {
        #expect(
            try text(URLEncodedFormEncoder())
                == "data=AQID&flag=1&inner%5Bb%5D=1&list%5B%5D=1&list%5B%5D=2&text=a%20b%26c")
    }

    @Test("each option changes what it says")
    func options() throws {
        #expect(try text(URLEncodedFormEncoder(alphabetizeKeyValuePairs: false)).hasPrefix("text="))
        #expect(try text(URLEncodedFormEncoder(arrayEncoding: .noBrackets)).contains("list=1&list=2"))
        #expect(try text(URLEncodedFormEncoder(arrayEncoding: .indexInBrackets)).contains("list%5B0%5D=1"))
        #expect(try text(URLEncodedFormEncoder(boolEncoding: .literal)).contains("flag=true"))
        #expect(try text(URLEncodedFormEncoder(keyPathEncoding: .dots)).contains("inner.b=1"))
        #expect(try text(URLEncodedFormEncoder(nilEncoding: .dropValue)).contains("nothing=&"))
        #expect(try text(URLEncodedFormEncoder(nilEncoding: .null)).contains("nothing=null"))
        #expect(try text(URLEncodedFormEncoder(spaceEncoding: .plusReplaced)).contains("text=a+b%26c"))
    }

    @Test(
        "keys are written as documented",
        arguments: [
            ("default", "oneTwoThree=1"), ("snake", "one_two_three=1"), ("kebab", "one-two-three=1"),
            ("capitalized", "OneTwoThree=1"),
            ("upper", "ONETWOTHREE=1"), ("lower", "onetwothree=1"), ("custom", "x=1"),
        ])
    func keys(name: String, expected: String) throws {
        let encodings: [String: URLEncodedFormEncoder.KeyEncoding] = [
            "default": .useDefaultKeys, "snake": .convertToSnakeCase, "kebab": .convertToKebabCase,
            "capitalized": .capitalized,
            "upper": .uppercased, "lower": .lowercased, "custom": .custom { _ in "x" },
        ]
        let encoding = try #require(encodings[name])
        #expect(try text(URLEncodedFormEncoder(keyEncoding: encoding), Keyed()) == expected)
    }

    @Test("dates are written as documented")
    func dates() throws {
        #expect(try text(URLEncodedFormEncoder(dateEncoding: .secondsSince1970), Dated()) == "date=123.5")
        #expect(try text(URLEncodedFormEncoder(dateEncoding: .millisecondsSince1970), Dated()) == "date=123500.0")
        #expect(try text(URLEncodedFormEncoder(dateEncoding: .iso8601), Dated()) == "date=1970-01-01T00%3A02%3A03Z")
        #expect(try text(URLEncodedFormEncoder(dateEncoding: .custom { _ in "d" }), Dated()) == "date=d")
    }

    @Test("a value without keys is refused")
    func noKeys() {
        #expect(throws: URLEncodedFormEncoder.Error.self) {
            let _: String = try URLEncodedFormEncoder().encode([1, 2])
        }
        #expect(throws: URLEncodedFormEncoder.Error.self) { let _: String = try URLEncodedFormEncoder().encode("text") }
    }
}

@Suite("Header fields")
struct HTTPHeadersTests {
    @Test("names are compared without case, and keep their place")
    func order() {
        var headers: HTTPHeaders = ["B": "1", "a": "2", "b": "3"]
        #expect(headers.map(\.description) == ["b: 3", "a: 2"])
        headers["A"] = nil
        #expect(headers.value(for: "B") == "3" && headers.count == 1)
        headers.add(name: "A", value: "4")
        #expect(headers.sorted().map(\.name) == ["A", "b"])
    }

    @Test("credentials become an Authorization field")
    func authorization() {
        #expect(HTTPHeader.authorization(username: "u", password: "p").value == "Basic dTpw")
        #expect(HTTPHeader.authorization(bearerToken: "t").value == "Bearer t")
    }

    @Test("the user agent names program, system and library")
    func userAgent() {
        #expect(HTTPHeader.defaultUserAgent.value.contains("Linux "))
        #expect(HTTPHeader.defaultUserAgent.value.hasSuffix(" Fireweed/\(AFInfo.version)"))
    }
}
