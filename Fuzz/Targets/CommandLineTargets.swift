// Targets for arguments behind a URL, and for JSON of a server or a file.

import CommandLanguage

extension FuzzTarget {
    /// The strict reader of JSON.
    static let json = FuzzTarget("json-text") { bytes in
        let text = bytes.text
        let node = try? JSONReader.read(text)
        if let node {
            try expectEqual(try JSONReader.read(node.text), node, "a value that is written can be read")
            _ = try JSONReader.read(node.sorted.text)
            try expectEqual(JSONReader.sequence(text) ?? [], [node], "a value is a sequence of one")
            for path in [".a", "[0]", "[]", ".a[].b"] { _ = ValuePath(path)?.values(in: node)?.map(\.plainText) }
        }
        _ = JSONReader.sequence(text)
    }

    /// Items of a command line, one on each line; the first line is a URL, the second a path into the value that they
    /// make.
    static let requestItems = FuzzTarget("request-items") { bytes in
        let lines = bytes.textLines
        try checkPattern(lines.first ?? "")
        var builder = JSONBuilder()
        for item in lines.dropFirst(2).compactMap({ Item($0) }) {
            try expect(!item.name.isEmpty, "an item has a name")
            guard item.isData, let name = try? NestedName(item.name) else { continue }
            let value = item.kind == .json ? try? JSONReader.read(item.value) : JSONNode(text: item.value)
            if case .string(let string)? = value, item.kind != .json {
                try expectEqual(JSONEscapes.unescaped(string), item.value, "text survives being escaped")
            }
            guard let value else { continue }
            // A value of another type can be there already.
            try? builder.set(value, at: name)
        }
        // Names and values can be nested as deep as the reader allows, each: both together are not read again.
        guard let again = try? JSONReader.read(builder.value.text) else {
            return try expect(bytes.count { $0 == 0x5B } > 400, "what items make is JSON: \(builder.value.text)")
        }
        try expectEqual(again, builder.value, "what items make is the JSON that is sent")
        _ = ValuePath(lines.dropFirst().first ?? "")?.values(in: again)
    }

    /// Every URL of a pattern can be made, and a word without ranges stands for itself.
    private static func checkPattern(_ word: String) throws {
        guard let pattern = try? URLGlob(word) else { return }
        try expect(pattern.count >= 1 || word.isEmpty, "a pattern stands for a URL")
        for index in [0, pattern.count / 2, pattern.count - 1] where index >= 0 { _ = pattern.url(at: index) }
        if !word.contains("{"), !word.contains("[") {
            try expectEqual(pattern.url(at: 0).text, word, "a word without a range stands for itself")
        }
        try expectEqual(URLGlob(literal: word).url(at: 0).text, word, "a literal stands for itself")
    }

    /// What is printed of text from elsewhere; the type is the command's, by a link to its file.
    static let terminalText = FuzzTarget("terminal-text", maximumByteCount: 256) { bytes in
        let text = bytes.text
        let shown = TerminalText(foreign: text)
        let scalars = shown.text.unicodeScalars
        try expect(
            !scalars.contains { ($0.value < 0x20 && $0 != "\n" && $0 != "\t") || (0x7F...0x9F).contains($0.value) },
            "what is printed steers no terminal")
        try expectEqual(TerminalText(foreign: shown.text), shown, "what is safe stays")
        try expectEqual("\(text)" as TerminalText, shown, "interpolated text is from elsewhere")
        try expectEqual("\(shown)\(text)" as TerminalText, shown + shown, "safe text is not changed again")
        // Nothing else is lost, and nothing is put in.
        var rest = scalars[...]
        for scalar in text.unicodeScalars where scalar == rest.first { rest = rest.dropFirst() }
        try expect(rest.isEmpty, "what is printed is a part of the text")
        let isPlain = text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        try expect(!isPlain || shown.text == text, "plain text is printed as it is")
        try expectEqual(shown.bytes, Array(shown.text.utf8), "text is printed as UTF-8")
    }
}
