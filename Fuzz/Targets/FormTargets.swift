// Forms, as they are encoded.

import Fireweed
import Foundation

extension FuzzTarget {
    /// Options in the first byte, then a tree of values.
    static let urlEncodedForm = FuzzTarget("url-encoded-form", maximumByteCount: 1024) { bytes in
        var rest = bytes
        let options = rest.takeByte()
        let tree = FormTree.map(FormTree.members(&rest, depth: 3))
        let encoder = URLEncodedFormEncoder(
            arrayEncoding: options & 1 == 0 ? .brackets : .indexInBrackets,
            keyPathEncoding: options & 2 == 0 ? .brackets : .dots, nilEncoding: options & 4 == 0 ? .dropKey : .null,
            spaceEncoding: options & 8 == 0 ? .percentEscaped : .plusReplaced)
        let text: String = try encoder.encode(tree)
        let isPlain = text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || "-._~/?&=%+".utf8.contains(byte)
        }
        try expect(isPlain, "a form holds nothing that needs escaping")
        let pairs = text.isEmpty ? [] : text.components(separatedBy: "&")
        let decoded = try pairs.map { pair in
            let halves = pair.components(separatedBy: "=")
            try expectEqual(halves.count, 2, "a pair is a name and a value")
            return try halves.map { half in
                let spaced = options & 8 == 0 ? half : half.replacingOccurrences(of: "+", with: " ")
                guard let text = spaced.removingPercentEncoding else {
                    throw FuzzFailure(description: "an escape is complete")
                }
                return text
            }
        }
        let expected = tree.pairs(
            nil, element: { options & 1 == 0 ? "\($0)[]" : "\($0)[\($1)]" },
            member: { options & 2 == 0 ? "[\($0)]" : ".\($0)" }, null: options & 4 == 0 ? nil : "null")
        let order = { (left: [String], right: [String]) in left.lexicographicallyPrecedes(right) }
        try expectEqual(decoded.sorted(by: order), expected.sorted(by: order), "a form says what it is made of")
    }
}

/// A value with keys, elements, texts and absences.
private indirect enum FormTree: Encodable {
    case text(String)
    case null
    case list([FormTree])
    case map([String: FormTree])

    init(_ rest: inout ArraySlice<UInt8>, depth: Int) {
        switch rest.takeByte() % 8 {
        case 0 where depth > 0: self = .map(Self.members(&rest, depth: depth - 1))
        case 1 where depth > 0:
            self = .list((0..<(Int(rest.takeByte()) % 4)).map { _ in FormTree(&rest, depth: depth - 1) })
        case 2: self = .null
        default: self = .text(Self.word(&rest))
        }
    }

    static func members(_ rest: inout ArraySlice<UInt8>, depth: Int) -> [String: FormTree] {
        var members: [String: FormTree] = [:]
        for _ in 0..<(Int(rest.takeByte()) % 6) {
            let key = word(&rest)
            members[key] = FormTree(&rest, depth: depth)
        }
        return members
    }

    /// What comes before the next NUL.
    private static func word(_ rest: inout ArraySlice<UInt8>) -> String {
        let word = rest.prefix { $0 != 0 }
        rest = rest[word.endIndex...].dropFirst()
        return word.text
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .text(let text): try text.encode(to: encoder)
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .list(let elements): try elements.encode(to: encoder)
        case .map(let members): try members.encode(to: encoder)
        }
    }

    /// Names and values as they are to be read on the other side.
    func pairs(
        _ name: String?, element: (String, Int) -> String, member: (String) -> String, null: String?
    ) -> [[String]] {
        switch self {
        case .text(let text): [[name ?? "", text]]
        case .null: null.map { [[name ?? "", $0]] } ?? []
        case .list(let elements):
            elements.enumerated().flatMap {
                $1.pairs(element(name ?? "", $0), element: element, member: member, null: null)
            }
        case .map(let members):
            members.flatMap { key, tree in
                tree.pairs(name.map { $0 + member(key) } ?? key, element: element, member: member, null: null)
            }
        }
    }
}
