import Fireweed
import Foundation
import Testing

/// A value, an encoder, and the text that is documented for them; names and values are shown unescaped.
struct FormRow: Sendable, CustomTestStringConvertible {
    let name: String
    let encoder: @Sendable () -> URLEncodedFormEncoder
    let value: any Encodable & Sendable
    let expected: String

    init(
        _ name: String, _ expected: String, _ value: any Encodable & Sendable,
        _ encoder: @autoclosure @escaping @Sendable () -> URLEncodedFormEncoder = URLEncodedFormEncoder()
    ) {
        self.name = name
        self.expected = expected
        self.value = value
        self.encoder = encoder
    }

    var testDescription: String { name }
}

private struct Lists: Encodable {
    var a = [1, 2]
    var b = [[1], [2, 3]]
    var c: [Int] = []
}
private struct Flags: Encodable {
    var no = false
    var yes = true
}
private struct Bytes: Encodable { var d = Data([1, 2]) }
private struct Dated: Encodable { var d = Date(timeIntervalSince1970: 1_000_000_000.5) }
private struct Outer: Encodable {
    struct Middle: Encodable { var oneTwo = Inner() }
    struct Inner: Encodable { var threeFour = [1] }
    var zero = Middle()
}
private struct Name<Value: Encodable & Sendable>: Encodable {
    var key: String
    var value: Value
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        try container.encode(value, forKey: AnyKey(key))
    }
}
private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(_ text: String) { stringValue = text }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { self.init("\(intValue)") }
}
private struct Nothing: Encodable {
    var a: Int?
    var b: [Int?] = [1, nil]
    var c: Outer?
    var d: String? = "x"
}
private struct Ordered: Encodable {
    var b = 1
    var a = 2
    var c = 3
}
private enum Colour: String, Encodable { case red }
private struct Numbers: Encodable {
    var decimal = Decimal(string: "12345678901234567890.5")
    var double = 1.0
    var float: Float = 0.1
    var huge = UInt64.max
    var small = Int8.min
    var tiny = 1e-7
}
private struct Kinds: Encodable {
    var colour = Colour.red
    var id = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
    var url = URL(string: "https://h.example/?a=b")
    var map = ["k": 1]
    var numbered = [7: "x"]
}
private struct Empty: Encodable {}

private func dateFormatter() -> DateFormatter {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "UTC")
    formatter.dateFormat = "yyyy/MM/dd"
    return formatter
}

@Suite("Options of the form encoder")
struct FormEncoderTests {
    private static let rows: [FormRow] = [
        FormRow("brackets", "a[]=1&a[]=2&b[][]=1&b[][]=2&b[][]=3", Lists()),
        FormRow("no brackets", "a=1&a=2&b=1&b=2&b=3", Lists(), URLEncodedFormEncoder(arrayEncoding: .noBrackets)),
        FormRow(
            "index", "a[0]=1&a[1]=2&b[0][0]=1&b[1][0]=2&b[1][1]=3", Lists(),
            URLEncodedFormEncoder(arrayEncoding: .indexInBrackets)),
        FormRow(
            "custom arrays", "a.0=1&a.1=2&b.0.0=1&b.1.0=2&b.1.1=3", Lists(),
            URLEncodedFormEncoder(arrayEncoding: .custom { "\($0).\($1)" })),
        FormRow("numeric", "no=0&yes=1", Flags()),
        FormRow("literal", "no=false&yes=true", Flags(), URLEncodedFormEncoder(boolEncoding: .literal)),
        FormRow("Base64", "d=AQI=", Bytes()),
        FormRow("deferred data", "d[]=1&d[]=2", Bytes(), URLEncodedFormEncoder(dataEncoding: .deferredToData)),
        FormRow(
            "custom data", "d=2 bytes", Bytes(), URLEncodedFormEncoder(dataEncoding: .custom { "\($0.count) bytes" })),
        FormRow("deferred date", "d=21692800.5", Dated()),
        FormRow("seconds", "d=1000000000.5", Dated(), URLEncodedFormEncoder(dateEncoding: .secondsSince1970)),
        FormRow(
            "milliseconds", "d=1000000000500.0", Dated(), URLEncodedFormEncoder(dateEncoding: .millisecondsSince1970)),
        FormRow("ISO 8601", "d=2001-09-09T01:46:40Z", Dated(), URLEncodedFormEncoder(dateEncoding: .iso8601)),
        FormRow(
            "formatter", "d=2001/09/09", Dated(), URLEncodedFormEncoder(dateEncoding: .formatted(dateFormatter()))),
        FormRow("custom date", "d=then", Dated(), URLEncodedFormEncoder(dateEncoding: .custom { _ in "then" })),
        FormRow("default keys", "zero[oneTwo][threeFour][]=1", Outer()),
        FormRow(
            "snake case", "zero[one_two][three_four][]=1", Outer(),
            URLEncodedFormEncoder(keyEncoding: .convertToSnakeCase)),
        FormRow(
            "kebab case", "zero[one-two][three-four][]=1", Outer(),
            URLEncodedFormEncoder(keyEncoding: .convertToKebabCase)),
        FormRow(
            "capitalised", "Zero[oneTwo][threeFour][]=1", Outer(), URLEncodedFormEncoder(keyEncoding: .capitalized)),
        FormRow("upper case", "ZERO[ONETWO][THREEFOUR][]=1", Outer(), URLEncodedFormEncoder(keyEncoding: .uppercased)),
        FormRow("lower case", "zero[onetwo][threefour][]=1", Outer(), URLEncodedFormEncoder(keyEncoding: .lowercased)),
        FormRow(
            "custom keys", "zero[oneTwo][threeFour][]!=1", Outer(),
            URLEncodedFormEncoder(keyEncoding: .custom { $0 + "!" })),
        FormRow("dots", "zero.oneTwo.threeFour[]=1", Outer(), URLEncodedFormEncoder(keyPathEncoding: .dots)),
        FormRow(
            "custom key path", "zero/oneTwo/threeFour[]=1", Outer(),
            URLEncodedFormEncoder(keyPathEncoding: .init { "/\($0)" })),
        FormRow("nil drops the key", "b[]=1&d=x", Nothing()),
        FormRow(
            "nil drops the value", "a=&b[]=&b[]=1&c=&d=x", Nothing(), URLEncodedFormEncoder(nilEncoding: .dropValue)),
        FormRow("null", "a=null&b[]=1&b[]=null&c=null&d=x", Nothing(), URLEncodedFormEncoder(nilEncoding: .null)),
        FormRow("custom nil", "a=-&b[]=-&b[]=1&c=-&d=x", Nothing(), URLEncodedFormEncoder(nilEncoding: .init { "-" })),
        FormRow("sorted", "a=2&b=1&c=3", Ordered()),
        FormRow("in order", "b=1&a=2&c=3", Ordered(), URLEncodedFormEncoder(alphabetizeKeyValuePairs: false)),
        FormRow(
            "numbers",
            "decimal=12345678901234567890.5&double=1.0&float=0.1&huge=18446744073709551615&small=-128&tiny=1e-07",
            Numbers()),
        FormRow(
            "other kinds",
            "colour=red&id=E621E1F8-C36C-495A-93FC-0C247A3E6E5F&map[k]=1&numbered[7]=x&url=https://h.example/?a=b",
            Kinds()),
        FormRow("dictionaries", "a[b][]=1", ["a": ["b": [1]]]), FormRow("nothing", "", Empty()),
        FormRow("an optional", "a=2&b=1&c=3", Optional(Ordered())),
        FormRow("no dictionary entries", "", [String: Int]()),
        FormRow("an empty key", "=1", ["": 1]), FormRow("an empty outer key", "[a]=1", ["": ["a": 1]]),
    ]

    @Test("each option writes what is documented for it", arguments: rows)
    func row(_ row: FormRow) throws {
        let text: String = try row.encoder().encode(row.value)
        #expect(text.removingPercentEncoding == row.expected)
        let data: Data = try row.encoder().encode(row.value)
        #expect(data == Data(text.utf8))
    }

    @Test(
        "words of a key are told apart",
        arguments: [
            ("oneTwoThree", "one_two_three"), ("one", "one"), ("One", "one"), ("myURLProperty", "my_url_property"),
            ("URL", "url"), ("parseJSON", "parse_json"), ("x", "x"), ("", ""), ("already_snake", "already_snake"),
            ("version2Beta", "version2_beta"),
        ])
    func words(key: String, expected: String) throws {
        let encoder = URLEncodedFormEncoder(keyEncoding: .convertToSnakeCase)
        #expect(try encoder.encode(Name(key: key, value: 1)) == "\(expected)=1")
    }

    @Test("spaces are escaped or become pluses, and a plus stays one")
    func spaces() throws {
        let value = ["a b": "c d+e"]
        #expect(try URLEncodedFormEncoder().encode(value) == "a%20b=c%20d%2Be")
        let plus = URLEncodedFormEncoder(spaceEncoding: .plusReplaced)
        #expect(try plus.encode(value) == "a+b=c+d%2Be")
        let all = URLEncodedFormEncoder(spaceEncoding: .plusReplaced, allowedCharacters: .init(charactersIn: "abcde+ "))
        #expect(try all.encode(value) == "a+b=c+d%2Be")
    }

    @Test("allowed characters stand as they are, ASCII alone")
    func allowed() throws {
        let encoder = URLEncodedFormEncoder(allowedCharacters: .init(charactersIn: "aä[]"))
        #expect(try encoder.encode(["a": ["aäb"]]) == "a[]=a%C3%A4%62")
        encoder.allowedCharacters = .afURLQueryAllowed
        #expect(try encoder.encode(["a": ["aäb"]]) == "a%5B%5D=a%C3%A4b")
    }
}

// MARK: - Implementations of `Encodable` by hand

private class Animal: Encodable, @unchecked Sendable {
    // SAFETY: a test uses it on one thread.
    var legs = 4
}
private final class Dog: Animal, @unchecked Sendable {
    enum Way { case superKey, namedKey, sameLevel }
    enum Keys: String, CodingKey { case name, parent }
    let way: Way
    init(_ way: Way) { self.way = way }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode("Rex", forKey: .name)
        switch way {
        case .superKey: try super.encode(to: container.superEncoder())
        case .namedKey: try super.encode(to: container.superEncoder(forKey: .parent))
        case .sameLevel: try super.encode(to: encoder)
        }
    }
}
private struct Nested: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        var keyed = container.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("k"))
        try keyed.encode(1, forKey: AnyKey("a"))
        var list = container.nestedUnkeyedContainer(forKey: AnyKey("l"))
        try list.encode("x")
        try list.encodeNil()
        var inner = list.nestedContainer(keyedBy: AnyKey.self)
        try inner.encode(true, forKey: AnyKey("b"))
        var innerList = list.nestedUnkeyedContainer()
        try innerList.encode(2)
        try Ordered().encode(to: list.superEncoder())
        #expect(list.count == 5 && list.codingPath.map(\.stringValue) == ["l"])
        try container.encodeNil(forKey: AnyKey("n"))
        try container.encode(Wrapped(), forKey: AnyKey("w"))
    }
}
private struct Wrapped: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Ordered())
    }
}
private struct Reopening: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        for text in ["a", "b"] {
            var keyed = container.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("k"))
            try keyed.encode(text, forKey: AnyKey(text))
            var list = container.nestedUnkeyedContainer(forKey: AnyKey("l"))
            try list.encode(text)
            var parent = container.superEncoder(forKey: AnyKey("p")).container(keyedBy: AnyKey.self)
            try parent.encode(text, forKey: AnyKey(text))
            try container.encode([text: text], forKey: AnyKey("v"))
        }
        _ = container.superEncoder(forKey: AnyKey("v"))
    }
}
private struct Refuses: Encodable {
    func encode(to encoder: any Encoder) throws {
        throw EncodingError.invalidValue(self, .init(codingPath: encoder.codingPath, debugDescription: "no"))
    }
}

@Suite("Containers of the form encoder")
struct FormEncoderContainerTests {
    private func text(_ value: any Encodable, _ encoder: URLEncodedFormEncoder = URLEncodedFormEncoder()) throws
        -> String?
    {
        let text: String = try encoder.encode(value)
        return text.removingPercentEncoding
    }

    @Test("a superclass goes under its key, or beside the subclass where it has none")
    func superclass() throws {
        #expect(try text(Dog(.superKey)) == "legs=4&name=Rex")
        #expect(try text(Dog(.namedKey)) == "name=Rex&parent[legs]=4")
        #expect(try text(Dog(.sameLevel)) == "legs=4&name=Rex")
    }

    @Test("nested containers nest, and single values stand for what they wrap")
    func nested() throws {
        let expected =
            "k[a]=1&l[0]=x&l[1]=null&l[2][b]=1&l[3][0]=2&l[4][a]=2&l[4][b]=1&l[4][c]=3&n=null&w[a]=2&w[b]=1&w[c]=3"
        #expect(
            try text(Nested(), URLEncodedFormEncoder(arrayEncoding: .indexInBrackets, nilEncoding: .null)) == expected)
        #expect(try text(Wrapped()) == "a=2&b=1&c=3")
    }

    @Test("a container that is made again for a key adds to it, and a value that is encoded again replaces it")
    func reopened() throws {
        #expect(try text(Reopening()) == "k[a]=a&k[b]=b&l[]=a&l[]=b&p[a]=a&p[b]=b&v[b]=b")
    }

    @Test(
        "a value without keys is refused at the top",
        arguments: [[1, 2], [String](), "text", 1, 1.5, true, Data([1]), Date(), Optional<Int>.none, UUID(), Set([1])]
            as [any Encodable & Sendable])
    func top(value: any Encodable & Sendable) {
        let error = #expect(throws: URLEncodedFormEncoder.Error.self) {
            let _: String = try URLEncodedFormEncoder().encode(value)
        }
        guard case .invalidRootObject(let kind) = error else { return }
        #expect(!kind.isEmpty)
    }

    @Test("an error of the value or of a closure comes out as it is, and inside an AFError with a request")
    func errors() throws {
        #expect(throws: EncodingError.self) { try text(["a": Refuses()]) }
        let dates = URLEncodedFormEncoder(dateEncoding: .custom { _ in throw CancellationError() })
        #expect(throws: CancellationError.self) { try text(Dated(), dates) }
        let data = URLEncodedFormEncoder(dataEncoding: .custom { _ in throw CancellationError() })
        #expect(throws: CancellationError.self) { try text(Bytes(), data) }
        let request = try URLRequest(url: "https://h.example/", method: .get)
        let error = #expect(throws: AFError.self) {
            try URLEncodedFormParameterEncoder.default.encode([1], into: request)
        }
        guard case .parameterEncoderFailed(.encoderFailed(let cause)) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(cause is URLEncodedFormEncoder.Error)
    }
}
