// Choices by chance.

import FireweedTesting

extension SeededGenerator {
    /// True in `percent` of 100 cases.
    mutating func happens(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &self) < percent
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &self)
    }

    /// One of the choices; earlier duplicates make a choice likelier.
    mutating func choice<Value>(_ first: Value, _ others: Value...) -> Value {
        let index = number(0...others.count)
        return index == 0 ? first : others[index - 1]
    }

    /// A value in some cases, else `nil`.
    mutating func maybe<Value>(_ percent: Int, _ make: (inout SeededGenerator) -> Value) -> Value? {
        happens(percent) ? make(&self) : nil
    }
}
