// Section 6 of the case list: text that is UTF-8, and text that is not.

import FixtureServer
import Foundation

/// Messages of text, in frames.
enum UTF8Cases {
    typealias Frame = WebSocketPeer.Frame

    static let all = empty + whole + pieces + failFast + valid + invalid

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = Array(hex.filter { $0 != " " })
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) }
    }

    private static func frames(_ parts: [[UInt8]]) -> [Frame] {
        parts.enumerated().map { Frame($0 == 0 ? 1 : 0, $1, isFinal: $0 == parts.count - 1) }
    }

    private static func good(_ number: String, _ parts: [[UInt8]]) -> ConformanceCase {
        .init(number: number, frames: frames(parts), outcome: .clean([Frame(1, Array(parts.joined()))]))
    }

    private static func bad(_ number: String, _ parts: [[UInt8]]) -> ConformanceCase {
        .init(number: number, frames: frames(parts), outcome: .failure(1007))
    }

    private static let greek = bytes("CEBA E1BDB9 CF83 CEBC CEB5")  // κόσμε
    private static let surrogate = bytes("CEBAE1BDB9CF83CEBCCEB5 EDA080 656469746564")

    private static let empty = [
        good("6.1.1", [[]]), good("6.1.2", [[], [], []]), good("6.1.3", [[], Array("middle frame payload".utf8), []]),
    ]

    private static let whole: [ConformanceCase] = {
        let text = Array("Hello-µ@ßöäüàá-UTF-8!!".utf8)
        return [
            good("6.2.1", [text]), good("6.2.2", [Array(text.prefix(8)), Array(text.dropFirst(8))]),
            good("6.2.3", text.map { [$0] }), good("6.2.4", greek.map { [$0] }),
        ]
    }()

    private static let pieces = [bad("6.3.1", [surrogate]), bad("6.3.2", surrogate.map { [$0] })]

    /// What cannot become UTF-8 any more is refused before the message ends: its last frame never comes.
    private static let failFast: [ConformanceCase] = {
        let start = greek
        func open(_ number: String, _ parts: [[UInt8]], size: Int = .max) -> ConformanceCase {
            let frames = parts.enumerated().map { Frame($0 == 0 ? 1 : 0, $1, isFinal: false) }
            return .init(number: number, frames: frames, size: size, outcome: .failure(1007))
        }
        return [
            open("6.4.1", [start, bytes("F4908080")]), open("6.4.2", [start + bytes("F4"), bytes("90")]),
            open("6.4.3", [start + bytes("F4908080")]), open("6.4.4", [start + bytes("F490")], size: 1),
        ]
    }()

    private static let valid: [ConformanceCase] = {
        var cases: [ConformanceCase] = []
        func add(_ section: String, _ rows: [String], from first: Int = 1) {
            for (index, row) in rows.enumerated() { cases.append(good("\(section).\(index + first)", [bytes(row)])) }
        }
        add(
            "6.5",
            [
                "CEBAE1BDB9CF83CEBCCEB5", "68656C6C6F24776F726C64", "68656C6C6FC2A2776F726C64",
                "68656C6C6FE282AC776F726C64", "68656C6C6FF0A4ADA2776F726C64",
            ])
        add("6.6", ["CEBA"], from: 2)
        add("6.6", ["CEBAE1BDB9"], from: 5)
        add("6.6", ["CEBAE1BDB9CF83"], from: 7)
        add("6.6", ["CEBAE1BDB9CF83CEBC"], from: 9)
        add("6.6", ["CEBAE1BDB9CF83CEBCCEB5"], from: 11)
        add("6.7", ["00", "C280", "E0A080", "F0908080"])
        add("6.9", ["7F", "DFBF", "EFBFBF", "F48FBFBF"])
        add("6.11", ["ED9FBF", "EE8080", "EFBFBD", "F48FBFBF"])
        // The last two code points of each plane, which are noncharacters and none the less UTF-8.
        let planes = (0...16).flatMap { [UInt32($0) << 16 | 0xFFFE, UInt32($0) << 16 | 0xFFFF] }
        for (index, point) in planes.enumerated() {
            let scalar = UnicodeScalar(point).map { Array(String($0).utf8) } ?? []
            cases.append(good("6.22.\(index + 1)", [scalar]))
        }
        for (index, point) in (UInt32(0xFFF9)...0xFFFF).enumerated() {
            let scalar = UnicodeScalar(point).map { Array(String($0).utf8) } ?? []
            cases.append(good("6.23.\(index + 1)", [scalar]))
        }
        return cases
    }()

    /// Bytes that begin a character, each with a space behind it.
    private static func lonely(_ range: ClosedRange<UInt8>) -> [UInt8] {
        range.flatMap { [$0, 0x20] }
    }

    private static let invalid: [ConformanceCase] = {
        let starts: [[UInt8]] = [
            lonely(0xC0...0xDF), lonely(0xE0...0xEF), lonely(0xF0...0xF7), lonely(0xF8...0xFB), lonely(0xFC...0xFC),
        ]
        let incomplete = [
            "C0", "E080", "F08080", "F8808080", "FC80808080", "DF", "EFBF", "F7BFBF", "FBBFBFBF", "FDBFBFBFBF",
        ]
        let high = ["EDA080", "EDADBF", "EDAE80", "EDAFBF", "EDB080", "EDBE80", "EDBFBF"]
        let pairs = [
            "EDA080EDB080", "EDA080EDBFBF", "EDADBFEDB080", "EDADBFEDBFBF", "EDAE80EDB080", "EDAE80EDBFBF",
            "EDAFBFEDB080", "EDAFBFEDBFBF",
        ]
        var rows: [(String, [UInt8])] = []
        func add(_ section: String, _ list: [[UInt8]], from first: Int = 1) {
            for (index, row) in list.enumerated() { rows.append(("\(section).\(index + first)", row)) }
        }
        add("6.6", [bytes("CE")])
        add("6.6", [bytes("CEBAE1"), bytes("CEBAE1BD")], from: 3)
        add("6.6", [bytes("CEBAE1BDB9CF")], from: 6)
        add("6.6", [bytes("CEBAE1BDB9CF83CE")], from: 8)
        add("6.6", [bytes("CEBAE1BDB9CF83CEBCCE")], from: 10)
        add("6.8", ["F888808080", "FC8480808080"].map(bytes))
        add("6.10", ["F7BFBFBF", "FBBFBFBFBF", "FDBFBFBFBFBF"].map(bytes))
        add("6.11", [bytes("F4908080")], from: 5)
        let runs: [[UInt8]] = (1...6).map { [UInt8](repeating: 0x80, count: $0) }
        let every: [UInt8] = Array(0x80...0xBF)
        add("6.12", [runs[0], [0xBF]] + runs.dropFirst() + [every])
        add("6.13", starts)
        add("6.14", incomplete.map(bytes))
        add("6.15", [bytes(incomplete.joined())])
        add("6.16", ["FE", "FF", "FEFEFFFF"].map(bytes))
        add("6.17", ["C0AF", "E080AF", "F08080AF", "F8808080AF", "FC80808080AF"].map(bytes))
        add("6.18", ["C1BF", "E09FBF", "F08FBFBF", "F887BFBFBF", "FC83BFBFBFBF"].map(bytes))
        add("6.19", ["C080", "E08080", "F0808080", "F880808080", "FC8080808080"].map(bytes))
        add("6.20", high.map(bytes))
        add("6.21", pairs.map(bytes))
        return rows.map { bad($0.0, [$0.1]) }
    }()
}
