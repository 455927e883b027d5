// Random texts that are the same in every run.

import FireweedTesting

extension SeededGenerator {
    /// Text of hostile characters, up to a length.
    mutating func text(_ characters: [Character] = hostile, upTo limit: Int = 12) -> String {
        let count = Int.random(in: 0...limit, using: &self)
        return String((0..<count).compactMap { _ in characters.randomElement(using: &self) })
    }

    /// What quoting, escaping and framing stumble over.
    static let hostile: [Character] = Array(
        "aZ09 \"'\\`$!%&;|<>(){}[]*?#~^=+:,@/-_.\t\r\n\u{1}\u{1B}\u{7F}\u{85}äß€日本😀\u{301}")
}
