// The item language.

/// One item of a command line: a header field, a parameter, or a field of the content.
package struct Item: Sendable, Equatable {
    /// The kind of an item, which its separator decides.
    package enum Kind: Sendable, Equatable {
        case header, headerFromFile, emptyHeader, removedHeader
        case query, queryFromFile
        case text, textFromFile, json, jsonFromFile, file
    }

    package let kind: Kind
    package let name: String
    package let value: String

    /// Reads an item; `nil` for a word without a separator, or without a name before it.
    package init?(_ word: String) {
        let (characters, isEscaped) = Self.unescaped(word)
        for index in characters.indices where !isEscaped[index] {
            // At the same position, the longer separator wins.
            for (separator, kind) in Self.separators {
                let end = index + separator.count
                guard end <= characters.count, Array(characters[index..<end]) == separator,
                    !isEscaped[index..<end].contains(true)
                else { continue }
                self.init(kind, name: String(characters[..<index]), value: String(characters[end...]))
                return
            }
        }
        if let last = characters.last, last == ";", isEscaped.last == false {
            self.init(.emptyHeader, name: String(characters.dropLast()), value: "")
            return
        }
        return nil
    }

    private init?(_ kind: Kind, name: String, value: String) {
        guard !name.isEmpty else { return nil }
        self.kind = kind == .header && value.isEmpty ? .removedHeader : kind
        self.name = name
        self.value = value
    }

    /// True for an item that becomes part of the content.
    package var isData: Bool {
        switch kind {
        case .text, .json, .file, .textFromFile, .jsonFromFile: true
        case .header, .headerFromFile, .emptyHeader, .removedHeader, .query, .queryFromFile: false
        }
    }

    /// True for `name@file`, whose file becomes a body part.
    package var isFile: Bool { kind == .file }

    /// True when the value is the path of a file to read.
    package var isFromFile: Bool {
        switch kind {
        case .headerFromFile, .queryFromFile, .textFromFile, .jsonFromFile: true
        case .header, .emptyHeader, .removedHeader, .query, .text, .json, .file: false
        }
    }

    private static let separators: [([Character], Kind)] = [
        (Array(":=@"), .jsonFromFile), (Array("==@"), .queryFromFile), (Array("=="), .query), (Array(":="), .json),
        (Array("=@"), .textFromFile), (Array(":@"), .headerFromFile), (Array("="), .text), (Array(":"), .header),
        (Array("@"), .file),
    ]

    /// Returns the characters without the backslashes before separators, and whether each character was escaped.
    ///
    /// Every other backslash stays, since JSON and Windows paths contain backslashes.
    private static func unescaped(_ word: String) -> (characters: [Character], isEscaped: [Bool]) {
        var characters: [Character] = []
        var isEscaped: [Bool] = []
        var iterator = Array(word)[...]
        while let character = iterator.popFirst() {
            if character == "\\", let next = iterator.first, "=:@;".contains(next) {
                iterator.removeFirst()
                characters.append(next)
                isEscaped.append(true)
            } else {
                characters.append(character)
                isEscaped.append(false)
            }
        }
        return (characters, isEscaped)
    }
}
