// Field names that are paths into a JSON value, such as `user[tags][]`.

/// A parsed field name.
package struct NestedName: Equatable {
    /// One step into a value.
    package enum Component: Equatable {
        case member(String)
        case index(Int)
        /// `[]`: a new element after the last one of an array.
        case end
    }

    /// A step, and its range in the name, counted in characters.
    package struct Part: Equatable {
        package var step: Component
        package var range: Range<Int>
    }

    package let parts: [Part]
    package let text: String

    /// The largest index; limited since setting an element creates all elements before it.
    package static let maximumIndex = 9_999
    /// The largest number of brackets; limited since recursive functions build and write the values.
    private static let maximumDepth = 512

    /// Parses `a[b][0][]`, `[0][x]` or `[]`; after a backslash, a bracket is literal, and a number is a member's name.
    ///
    /// Throws `UsageError` with the position of the error.
    package init(_ text: String) throws {
        self.text = text
        let characters = Array(text)
        var parts: [Part] = []
        var position = 0
        if characters.first != "[" {
            let (name, end) = Self.literal(characters, from: 0, until: "[")
            parts.append(Part(step: .member(name), range: 0..<end))
            position = end
        }
        while position < characters.count {
            guard parts.count <= Self.maximumDepth else {
                throw UsageError(message: "a name has more than \(Self.maximumDepth) brackets")
            }
            guard characters[position] == "[" else {
                throw Self.error("\"[\" is expected", text, position..<position + 1)
            }
            let (name, end) = Self.literal(characters, from: position + 1, until: "]")
            guard end < characters.count else {
                throw Self.error("\"]\" is missing", text, position..<characters.count)
            }
            let range = position..<end + 1
            let written = String(characters[position + 1..<end])
            parts.append(Part(step: try Self.step(written, name, text, range), range: range))
            position = end + 1
        }
        self.parts = parts
    }

    private static func step(_ written: String, _ name: String, _ text: String, _ range: Range<Int>) throws -> Component
    {
        if written.isEmpty { return .end }
        guard let number = Int(written) else { return .member(name) }
        guard number >= 0 else { throw error("an index cannot be negative", text, range) }
        guard number <= maximumIndex else { throw error("an index is at most \(maximumIndex)", text, range) }
        return .index(number)
    }

    private static func literal(
        _ characters: [Character], from start: Int, until terminator: Character
    ) -> (text: String, end: Int) {
        var literal = ""
        var position = start
        while position < characters.count, characters[position] != terminator {
            if characters[position] == "\\", position + 1 < characters.count,
                "[]\\".contains(characters[position + 1])
                    || position == start && (characters[position + 1].isNumber || characters[position + 1] == "-")
            {
                position += 1
            }
            literal.append(characters[position])
            position += 1
        }
        return (literal, position)
    }

    /// Makes an error that shows the name, with the faulty part marked.
    package static func error(_ message: String, _ text: String, _ range: Range<Int>) -> UsageError {
        let marks = String(repeating: " ", count: range.lowerBound) + String(repeating: "^", count: max(1, range.count))
        return UsageError(message: "\(message):\n  \(text)\n  \(marks)")
    }
}
