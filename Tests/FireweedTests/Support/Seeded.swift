// Random values that are the same in every run.

/// SplitMix64: small, fast, and good enough to find bugs with.
struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    /// Text of hostile characters, up to a length.
    mutating func text(_ characters: [Character] = hostile, upTo limit: Int = 12) -> String {
        let count = Int.random(in: 0...limit, using: &self)
        return String((0..<count).compactMap { _ in characters.randomElement(using: &self) })
    }

    /// What quoting, escaping and framing stumble over.
    static let hostile: [Character] = Array(
        "aZ09 \"'\\`$!%&;|<>(){}[]*?#~^=+:,@/-_.\t\r\n\u{1}\u{1B}\u{7F}\u{85}äß€日本😀\u{301}")
}
