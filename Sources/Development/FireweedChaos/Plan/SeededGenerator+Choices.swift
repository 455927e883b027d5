// Random choices.

import FireweedTesting

extension SeededGenerator {
    /// True with a probability of `percent` in 100.
    mutating func happens(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &self) < percent
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &self)
    }

    /// Returns one of the choices; a repeated choice is more probable.
    mutating func choice<Value>(_ first: Value, _ others: Value...) -> Value {
        let index = number(0...others.count)
        return index == 0 ? first : others[index - 1]
    }

    /// Returns a value with a probability of `percent` in 100, otherwise `nil`.
    mutating func maybe<Value>(_ percent: Int, _ make: (inout SeededGenerator) -> Value) -> Value? {
        happens(percent) ? make(&self) : nil
    }
}
