import Fireweed
import FireweedTesting
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

/// A generated value.
private indirect enum Tree: Encodable, Sendable {
    case text(String)
    case list([Tree])
    case map([String: Tree])

    init(_ generator: inout SeededGenerator, depth: Int) {
        switch depth > 0 ? Int.random(in: 0..<4, using: &generator) : 0 {
        case 2:
            self = .list((0..<Int.random(in: 0..<4, using: &generator)).map { _ in Tree(&generator, depth: depth - 1) })
        case 3: self = Tree(mapWith: &generator, depth: depth)
        default: self = .text(generator.text())
        }
    }

    init(mapWith generator: inout SeededGenerator, depth: Int) {
        var members: [String: Tree] = [:]
        for _ in 0..<Int.random(in: 0..<6, using: &generator) {
            members[generator.text()] = Tree(&generator, depth: depth - 1)
        }
        self = .map(members)
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .text(let text): try text.encode(to: encoder)
        case .list(let elements): try elements.encode(to: encoder)
        case .map(let members): try members.encode(to: encoder)
        }
    }

    /// The same as the dictionaries of `Parameters`.
    var parameter: any Sendable {
        switch self {
        case .text(let text): text
        case .list(let elements): elements.map(\.parameter) as [any Sendable]
        case .map(let members): members.mapValues(\.parameter) as Parameters
        }
    }

    /// Names and values as they are to be read on the other side.
    func pairs(_ name: String?, element: (String, Int) -> String, member: (String) -> String) -> [[String]] {
        switch self {
        case .text(let text): [[name ?? "", text]]
        case .list(let elements):
            elements.enumerated().flatMap { $1.pairs(element(name ?? "", $0), element: element, member: member) }
        case .map(let members):
            members.flatMap { key, tree in
                tree.pairs(name.map { $0 + member(key) } ?? key, element: element, member: member)
            }
        }
    }
}

/// The judge is Python's `urllib.parse`.
@Suite("Form encoding, read by an independent decoder", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FormDecodingTests {
    private static let parse = """
        import json, sys, urllib.parse
        texts = json.load(sys.stdin)
        print(json.dumps([urllib.parse.parse_qsl(text, keep_blank_values=True, errors="strict") for text in texts]))
        """

    private static func brackets(_ name: String, _: Int) -> String { "\(name)[]" }
    private static func index(_ name: String, _ index: Int) -> String { "\(name)[\(index)]" }
    private static func plain(_ name: String, _: Int) -> String { name }

    private func trees(_ count: Int, seed: UInt64) -> [Tree] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in Tree(mapWith: &generator, depth: 3) }
    }

    private func check(_ texts: [String], against expected: [[[String]]]) async throws {
        let folder = try TemporaryFolder()
        let read = try await Program.python(
            Self.parse, input: try JSONEncoder().encode(texts), as: [[[String]]].self, in: folder.url)
        #expect(read.count == texts.count && texts.count > 500)
        for index in texts.indices {
            // Scalar by scalar: two texts that look alike are not the same bytes.
            func lines(_ pairs: [[String]]) -> [[UInt32]] {
                pairs.map { $0.flatMap { $0.unicodeScalars.map(\.value) + [UInt32.max] } }
                    .sorted { $0.lexicographicallyPrecedes($1) }
            }
            #expect(lines(read[index]) == lines(expected[index]), "\(texts[index])")
        }
    }

    @Test("what the form encoder writes is read as it was, over thousands of values", arguments: [0, 1, 2, 3])
    func encoder(variant: Int) async throws {
        let trees = trees(800, seed: UInt64(variant))
        let encoder: URLEncodedFormEncoder
        let expected: [[[String]]]
        switch variant {
        case 1:
            encoder = URLEncodedFormEncoder(arrayEncoding: .indexInBrackets, keyPathEncoding: .dots)
            expected = trees.map { $0.pairs(nil, element: Self.index, member: { ".\($0)" }) }
        case 2:
            encoder = URLEncodedFormEncoder(arrayEncoding: .noBrackets, spaceEncoding: .plusReplaced)
            expected = trees.map { $0.pairs(nil, element: Self.plain, member: { "[\($0)]" }) }
        case 3:
            encoder = URLEncodedFormEncoder(alphabetizeKeyValuePairs: false, allowedCharacters: .alphanumerics)
            expected = trees.map { $0.pairs(nil, element: Self.brackets, member: { "[\($0)]" }) }
        default:
            encoder = URLEncodedFormEncoder()
            expected = trees.map { $0.pairs(nil, element: Self.brackets, member: { "[\($0)]" }) }
        }
        try await check(try trees.map { try encoder.encode($0) }, against: expected)
    }

    @Test("what the dictionary encoding writes is read as it was, over thousands of values")
    func dictionaries() async throws {
        let trees = trees(1000, seed: 9)
        let texts = try trees.map { tree -> String in
            guard let parameters = tree.parameter as? Parameters else { return "" }
            let request = try URLRequest(url: "https://h.example/", method: .post)
            return String(
                decoding: try URLEncoding.default.encode(request, with: parameters).httpBody ?? Data(), as: UTF8.self)
        }
        try await check(texts, against: trees.map { $0.pairs(nil, element: Self.brackets, member: { "[\($0)]" }) })
    }
}
