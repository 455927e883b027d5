import Foundation
import Testing

@testable import JSONTape

@Suite("JSON by a tape")
struct JSONTapeTests {
    /// What the tape gave where Foundation gave the same; `nil` where the tape refused.
    @discardableResult
    private func value<Value: Decodable & Equatable>(
        _ type: Value.Type, _ data: Data, by decoder: JSONDecoder = JSONDecoder(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Value? {
        let tape = try #require(JSONTape(decoder))
        guard let value = try? tape.decode(type, from: data) else { return nil }
        let text = String(decoding: data, as: UTF8.self)
        do {
            #expect(try decoder.decode(type, from: data) == value, "\(text)", sourceLocation: sourceLocation)
        } catch {
            Issue.record("Foundation refuses \(text)", sourceLocation: sourceLocation)
        }
        return value
    }

    private func value<Value: Decodable & Equatable>(
        _ type: Value.Type, _ text: String, by decoder: JSONDecoder = JSONDecoder(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Value? {
        try value(type, Data(text.utf8), by: decoder, sourceLocation: sourceLocation)
    }

    // MARK: What is JSON

    /// A value that says of anything what it is, by one call for each member.
    private struct Shape: Decodable, Equatable {
        private struct Name: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }
        let description: String

        init(from decoder: any Decoder) throws {
            if var array = try? decoder.unkeyedContainer() {
                var parts: [String] = []
                while !array.isAtEnd {
                    parts.append(try array.decodeNil() ? "null" : array.decode(Shape.self).description)
                }
                description = "[\(parts.joined(separator: ","))]"
            } else if let object = try? decoder.container(keyedBy: Name.self) {
                let parts = try object.allKeys.map { name in
                    "\(name.stringValue):\(try object.decodeIfPresent(Shape.self, forKey: name)?.description ?? "null")"
                }
                description = "{\(parts.sorted().joined(separator: ","))}"
            } else {
                let value = try decoder.singleValueContainer()
                if value.decodeNil() {
                    description = "null"
                } else if let text = try? value.decode(String.self) {
                    description = text.debugDescription
                } else if let bool = try? value.decode(Bool.self) {
                    description = "\(bool)"
                } else {
                    description = "\(try value.decode(Double.self))"
                }
            }
        }
    }

    @Test(
        "what RFC 8259 does not allow is refused",
        arguments: [
            "", " ", "[", "]", "{", "}", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1,,2]", "{\"a\"}", "{\"a\":}",
            "{\"a\":1,}",
            "{,}", "{1:2}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "[1]]", "[1] x", "1 2", "nul", "nulL", "tru", "fals",
            "True",
            "01", "-01", "1.", ".5", "+1", "-", "--1", "1e", "1e+", "1.e1", "0x1", "NaN", "Infinity", "-Infinity",
            "'a'",
            "\"", "\"a", "\"\\", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\ud800\\u0041\"",
            "\"\\udc00\"", "\"\u{1}\"", "\"\n\"", "// a\n1", "[1/**/]", "\u{FEFF}1", "\u{A0}1", "0e1", "-0E1",
            "[\u{0}]",
        ])
    func refused(text: String) throws {
        #expect(try value(Shape.self, text) == nil)
        #expect(try value([Shape].self, text) == nil)
    }

    @Test(
        "content that is no UTF-8 is refused",
        arguments: [
            [0x80], [0xC0, 0xAF], [0xC1, 0x81], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80], [0xE2, 0x82],
            [0xED, 0xA0, 0x80],
            [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xE2, 0x28, 0xA1],
            [0xF0, 0x9F, 0x98, 0x28],
        ] as [[UInt8]])
    func notUTF8(bytes: [UInt8]) throws {
        for prefix in ["", "1234567", "12345678"] {
            let data = Data("[\"\(prefix)".utf8) + bytes + Data("\"]".utf8)
            #expect(try value([String].self, data) == nil)
        }
        // In no other place of a document either.
        #expect(try value([String].self, Data(bytes) + Data("[]".utf8)) == nil)
        #expect(try value([String].self, Data("[".utf8) + bytes + Data("]".utf8)) == nil)
    }

    @Test(
        "strings are read whole, wherever an escape or a character of several bytes stands",
        arguments: 0..<20)
    func strings(length: Int) throws {
        let plain = String(repeating: "a", count: length)
        for (written, read) in [
            ("", ""), ("\\\"", "\""), ("\\\\", "\\"), ("\\/", "/"), ("\\b\\f\\n\\r\\t", "\u{8}\u{C}\n\r\t"), ("é", "é"),
            ("日本", "日本"), ("😀", "😀"), ("\\u00e9", "é"), ("\\uD83D\\uDE00", "😀"), ("\\u0000", "\0"),
            ("\u{7F}", "\u{7F}"),
            ("\\u0041é\\n", "Aé\n"),
        ] {
            for text in ["\(plain)\(written)", "\(plain)\(written)\(plain)", "\(written)\(plain)"] {
                let expected = text.replacingOccurrences(of: written, with: read)
                #expect(try value([String].self, "[\"\(text)\"]") == [written.isEmpty ? text : expected])
                #expect(try value([String: Int].self, "{\"\(text)\": 7}") == [written.isEmpty ? text : expected: 7])
            }
        }
    }

    @Test("space may be anywhere between values, and nowhere else")
    func space() throws {
        let space = " \t\r\n"
        let text = ["", "[", "{", "\"a\"", ":", "1", ",", "\"b\"", ":", "null", "}", ",", "[", "]", "]", ""].joined(
            separator: space)
        #expect(try value([[String: Int?]?].self, "[{\"a\":1,\"b\":null},null]") == [["a": 1, "b": nil], nil])
        struct Either: Decodable, Equatable {
            let count: Int
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                _ = try container.decode([String: Int?].self)
                count = try container.decode([Int].self).count
            }
        }
        #expect(try value(Either.self, text) != nil)
    }

    @Test("containers in each other are read to a depth of 500", arguments: [1, 2, 499, 500, 501, 600])
    func depth(depth: Int) throws {
        struct Nest: Decodable, Equatable {
            let depth: Int
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                depth = 1 + (container.isAtEnd ? 0 : try container.decode(Nest.self).depth)
            }
        }
        let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        #expect(try value(Nest.self, text)?.depth == (depth <= 500 ? depth : nil))
    }

    // MARK: Numbers

    private static let numbers = [
        "0", "-0", "1", "-1", "127", "128", "-128", "-129", "255", "256", "2147483647", "2147483648", "-2147483648",
        "4294967295", "4294967296", "9007199254740993", "999999999999999999", "9223372036854775807",
        "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
        "18446744073709551616", "99999999999999999999", "1.0", "1e2", "100e-2", "1E+2", "1.5", "0.1", "-0.0", "0.000",
        "1e22", "1e23", "123456789e-22", "9007199254740993e1", "0.30000000000000004", "1e39", "3.4028235e38", "1e400",
        "1e-400", "4.9e-324", "2.2250738585072014e-308", "2.2250738585072011e-308", "1.7976931348623157e308",
        "1e99999999999999999999", "0.1234567890123456789012345678901234567890", "16777217", "0.1e-44",
        "-0.0e1", "-0e1", "-0.00e-1", "-0.0", "0.0e1", "184467440737095516160.0",
        "12345678901234567890123456789012345678",
    ]

    @Test("numbers have Foundation's values to the last bit, or are refused", arguments: numbers)
    func number(text: String) throws {
        let text = "[\(text)]"
        func compare<Value: Decodable & Equatable & Sendable>(_ type: Value.Type) throws {
            try value([Value].self, Data(text.utf8))
        }
        try compare(Int.self)
        try compare(Int8.self)
        try compare(Int16.self)
        try compare(Int32.self)
        try compare(Int64.self)
        try compare(UInt.self)
        try compare(UInt8.self)
        try compare(UInt16.self)
        try compare(UInt32.self)
        try compare(UInt64.self)
        try compare(Decimal.self)
        try compare(Bool.self)
        try compare(String.self)
        if let double = try value([Double].self, text) {
            #expect(
                try JSONDecoder().decode([Double].self, from: Data(text.utf8)).map(\.bitPattern)
                    == double.map(\.bitPattern))
        }
        if let float = try value([Float].self, text) {
            #expect(
                try JSONDecoder().decode([Float].self, from: Data(text.utf8)).map(\.bitPattern)
                    == float.map(\.bitPattern))
        }
    }

    @Test("usual numbers are not refused")
    func usual() throws {
        #expect(try value([Int].self, "[0,-1,9223372036854775807]") == [0, -1, .max])
        #expect(try value([UInt64].self, "[9999999999999999999]") == [9_999_999_999_999_999_999])
        #expect(try value([Double].self, "[0,-1.5,1e22,0.1,12345.678e-3]") == [0, -1.5, 1e22, 0.1, 12.345678])
        #expect(try value([Float].self, "[0.1,16777216]") == [0.1, 16_777_216])
        #expect(
            try value([Decimal].self, "[0.1,12345678901234567890.12]")?.map(\.description) == [
                "0.1", "12345678901234567890.12",
            ])
        #expect(try value([Bool].self, "[true,false]") == [true, false])
    }

    // MARK: Types

    private struct Person: Decodable, Equatable {
        var name: String
        var age: Int?
        var mail: String?
    }

    @Test(
        "the first of several equal names counts, and names that are not asked for do not",
        arguments: [0, 5, 23, 24, 40])
    func names(others: Int) throws {
        let rest = (0..<others).map { ",\"other\($0)\":[{\"name\":\"no\"}]" }.joined()
        let person = try value(Person.self, "{\"age\":1,\"name\":\"a\",\"name\":\"b\",\"mail\":null,\"age\":2\(rest)}")
        #expect(person == Person(name: "a", age: 1, mail: nil))
    }

    @Test("a name is found in whatever way it is written")
    func written() throws {
        struct Accent: Decodable, Equatable {
            var é: Int?
        }
        #expect(try value(Person.self, "{\"n\\u0061me\":\"a\"}") == Person(name: "a"))
        #expect(try value(Accent.self, "{\"é\":1}") == Accent(é: 1))
        // Equal texts, of other bytes.
        #expect(try value(Accent.self, "{\"e\u{301}\":1}") == Accent(é: 1))
        struct Kelvin: Decodable, Equatable {
            enum CodingKeys: String, CodingKey { case degrees = "\u{212A}" }
            var degrees: Int?
        }
        #expect(try value(Kelvin.self, "{\"K\":1}") ?? Kelvin(degrees: 1) == Kelvin(degrees: 1))
    }

    @Test("what is missing, null or of another type is refused")
    func misfits() throws {
        for text in ["{}", "{\"name\":null}", "{\"name\":1}", "{\"name\":\"a\",\"age\":\"1\"}", "[]", "null", "1"] {
            #expect(try value(Person.self, text) == nil)
        }
        #expect(try value([String: Int].self, "{\"a\":1,\"a\":\"x\"}") == nil)
        #expect(try value(Person?.self, "null") == .some(nil))
        #expect(try value([Person?].self, "[null,{\"name\":\"a\"}]") == [nil, Person(name: "a")])
    }

    private class Base: Decodable {
        var x: Int
    }

    private final class Derived: Base {
        var y: Int
        private enum CodingKeys: String, CodingKey { case y }
        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            y = try container.decode(Int.self, forKey: .y)
            try super.init(from: container.superDecoder())
        }
    }

    @Test("nested containers and super decoders read what is there")
    func containers() throws {
        let content = Data("{\"super\":{\"x\":1},\"y\":2}".utf8)
        let derived = try? JSONTape(JSONDecoder())?.decode(Derived.self, from: content)
        #expect(derived?.x == 1 && derived?.y == 2)
        struct Nested: Decodable, Equatable {
            enum CodingKeys: String, CodingKey { case object, array, name }
            var numbers: [Int] = []
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                let object = try container.nestedContainer(keyedBy: CodingKeys.self, forKey: .object)
                numbers.append(try object.decode(Int.self, forKey: .name))
                var array = try container.nestedUnkeyedContainer(forKey: .array)
                numbers.append(array.count ?? -1)
                numbers.append(try array.nestedContainer(keyedBy: CodingKeys.self).allKeys.count)
                var inner = try array.nestedUnkeyedContainer()
                numbers.append(try inner.decode(Int.self) + inner.currentIndex)
                numbers.append(try Int(from: array.superDecoder()))
                numbers.append(array.isAtEnd ? 1 : 0)
                numbers.append(try container.decodeNil(forKey: .name) ? 1 : 0)
            }
        }
        let text = "{\"object\":{\"name\":7},\"array\":[{\"name\":1,\"x\":2},[5],9],\"name\":null}"
        #expect(try value(Nested.self, text)?.numbers == [7, 3, 1, 6, 9, 1, 1])
    }

    @Test("the values of dictionaries, enumerations and Foundation's types are Foundation's")
    func foundation() throws {
        enum Shape: Decodable, Equatable { case circle(radius: Double), square(Int) }
        #expect(
            try value([Shape].self, "[{\"circle\":{\"radius\":2}},{\"square\":{\"_0\":1}}]") == [
                .circle(radius: 2), .square(1),
            ])
        #expect(try value([Int: String].self, "{\"1\":\"a\",\"2\":\"b\"}") == [1: "a", 2: "b"])
        #expect(try value([String: [String: Int]].self, "{\"a\":{\"b\":1}}") == ["a": ["b": 1]])
        for text in ["http://a.test/b", "a b", "", "//", "http://[", "é"] {
            try value([URL].self, Data("[\"\(text)\"]".utf8))
        }
        for text in ["", "AA==", "AAE=", "AAEC", "A", "AA EC", "=A=="] {
            try value([Data].self, Data("[\"\(text)\"]".utf8))
        }
        #expect(try value([Data].self, "[\"AAEC\"]") == [Data([0, 1, 2])])
        #expect(try value([URL].self, "[\"http://a.test/b\"]")?.first?.path == "/b")
    }

    @Test("strategies for dates, data and names are the decoder's")
    func strategies() throws {
        let decoder = JSONDecoder()
        #expect(try value([Date].self, "[1.5]", by: decoder) == [Date(timeIntervalSinceReferenceDate: 1.5)])
        decoder.dateDecodingStrategy = .secondsSince1970
        #expect(try value([Date].self, "[1.5]", by: decoder) == [Date(timeIntervalSince1970: 1.5)])
        decoder.dateDecodingStrategy = .millisecondsSince1970
        #expect(try value([Date].self, "[1500]", by: decoder) == [Date(timeIntervalSince1970: 1.5)])
        decoder.dateDecodingStrategy = .iso8601
        #expect(try value([Date].self, "[\"1970-01-01T00:00:01Z\"]", by: decoder) == [Date(timeIntervalSince1970: 1)])
        for text in [
            "2024-01-02T03:04:05.678Z", "2024-01-02", "2024-01-02T03:04:05+01:00", "2024-13-02T03:04:05Z",
            "20240102T030405Z",
            "2024-01-02T03:04:05Zx", "",
        ] {
            try value([Date].self, Data("[\"\(text)\"]".utf8), by: decoder)
        }
        decoder.dataDecodingStrategy = .deferredToData
        #expect(try value([Data].self, "[[1,2]]", by: decoder) == [Data([1, 2])])
    }

    private struct Camel: Decodable, Equatable {
        var firstName: Int?
        var _leading: Int?
        var trailing_: Int?
        var lastURL: Int?
        var lastUrl: Int?
        var x1Y2: Int?
        var aB: Int?
        var plain: Int?
        var counts: [String: Int]?
    }

    @Test(
        "names with underscores are converted as Foundation does, few and many",
        arguments: [
            "first_name", "firstName", "First_Name", "_leading", "__leading", "trailing_", "last_url", "last_URL",
            "lastURL",
            "x1_y2", "a__b", "A_B", "plain", "is_2fa_on", "is_2fa", "line_2b", "a_b-c", "a_b'c", "v2_a", "2fa", "_",
            "__", "first__name_", "a_b_", "é_b",
        ], [0, 30])
    func snakeCase(name: String, others: Int) throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let rest = (0..<others).map { ",\"other_\($0)\":0" }.joined()
        let text = "{\"\(name)\":1,\"counts\":{\"a_b\":1,\"\(name)\":2},\"first_name\":3,\"firstName\":4\(rest)}"
        let camel = try value(Camel.self, text, by: decoder)
        let isDoubtful = ["é_b", "is_2fa_on", "is_2fa", "line_2b", "a_b-c", "a_b'c"].contains(name)
        #expect((camel == nil) == isDoubtful)
        if let camel { #expect(camel.counts?[name] == 2 && camel.firstName != nil) }
    }

    // MARK: What Foundation decides

    // SAFETY: it adds nothing to `JSONDecoder`, which says the same of itself.
    private final class Subclass: JSONDecoder, @unchecked Sendable {}

    @Test("a decoder with other options decodes itself")
    func otherDecoders() throws {
        func decoder(_ change: (JSONDecoder) -> Void) -> JSONDecoder {
            let decoder = JSONDecoder()
            change(decoder)
            return decoder
        }
        #expect(JSONTape(JSONDecoder()) != nil)
        for other in [
            Subclass(), decoder { $0.allowsJSON5 = true }, decoder { $0.assumesTopLevelDictionary = true },
            decoder { $0.userInfo = [CodingUserInfoKey(rawValue: "a")!: 1] },
            decoder { $0.dateDecodingStrategy = .custom { _ in Date() } },
            decoder { $0.dateDecodingStrategy = .formatted(DateFormatter()) },
            decoder { $0.dataDecodingStrategy = .custom { _ in Data() } },
            decoder { $0.keyDecodingStrategy = .custom { $0[0] } },
            decoder {
                $0.nonConformingFloatDecodingStrategy = .convertFromString(
                    positiveInfinity: "a", negativeInfinity: "b", nan: "c")
            },
        ] {
            #expect(JSONTape(other) == nil)
        }
    }

    @Test("who reads a coding path gets it, and Foundation's value in the end")
    func codingPath() throws {
        struct Path: Decodable, Equatable {
            var names: [String]
            var isEmpty = false
            init(from decoder: any Decoder) throws {
                names = decoder.codingPath.map { $0.intValue.map { "\($0)" } ?? $0.stringValue }
                Self.seen.append(names)
            }
            nonisolated(unsafe) static var seen: [[String]] = []  // SAFETY: this test alone uses it.
        }
        let data = Data("{\"a\":[[],{\"b\":1,\"c\":[0,1]}]}".utf8)
        struct Outer: Decodable { var a: [Inner] }
        struct Inner: Decodable {
            var path: [Path] = []
            private enum CodingKeys: CodingKey { case c }
            init(from decoder: any Decoder) throws {
                guard let container = try? decoder.container(keyedBy: CodingKeys.self) else { return }
                path = try container.decode([Path].self, forKey: .c)
            }
        }
        #expect((try? JSONTape(JSONDecoder())?.decode(Outer.self, from: data)) == nil)
        #expect(Path.seen == [["a", "1", "c", "0"], ["a", "1", "c", "1"]])
    }

    @Test(
        "a type that tries one thing after the other is Foundation's, and ends",
        arguments: ["[1,\"a\",null,{},2]", "[]"])
    func lenient(text: String) throws {
        struct Lossy: Decodable, Equatable {
            var numbers: [Int] = []
            init(from decoder: any Decoder) throws {
                struct Anything: Decodable {}
                var container = try decoder.unkeyedContainer()
                while !container.isAtEnd {
                    if let number = try? container.decode(Int.self) {
                        numbers.append(number)
                    } else if try !container.decodeNil() {
                        _ = try? container.decode(Anything.self)
                    }
                }
            }
        }
        #expect((try value(Lossy.self, text) == nil) == (text != "[]"))
    }

    @Test("content in the middle of other data is read from its beginning")
    func slice() throws {
        let data = Data("xxx[1,2]yyy".utf8)
        #expect(try value([Int].self, data[3..<8]) == [1, 2])
        #expect(try value([Int].self, Data()) == nil)
    }

    // MARK: At random

    @Test("random documents have Foundation's values, or are refused", arguments: 0..<20)
    func random(seed: UInt64) throws {
        var source = RandomJSON(seed: seed)
        for _ in 0..<50 {
            let data = source.mutated(source.value(depth: 0))
            try value([String: Double].self, data)
            try value([Person?].self, data)
            try value([[String]].self, data)
            try value(Camel.self, data)
            try value(Shape.self, data)
        }
    }
}
