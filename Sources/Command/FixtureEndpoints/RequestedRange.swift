// Ranges of a request.

import Foundation

/// The part of content that a request's `Range` field asks for (RFC 9110 §14.2).
package enum RequestedRange: Equatable, Sendable {
    /// The whole content: without the field, with several ranges, and with a field that cannot be parsed, which may all
    /// be ignored.
    case whole
    /// One part of the content.
    case part(Range<Int>)
    /// A range that has no byte of the content: the response is a 416.
    case unsatisfiable

    /// Parses a field.
    ///
    /// - Parameters:
    ///   - field: the value of the field; `nil` without one.
    ///   - byteCount: the length of the content.
    package init(_ field: String?, of byteCount: Int) {
        let sides = (field ?? "").split(separator: "=", omittingEmptySubsequences: false)
        // The name of the unit is compared without case (RFC 9110 §14.1).
        guard sides.count == 2, sides[0].lowercased() == "bytes" else {
            self = .whole
            return
        }
        let ends = sides[1].trimmingCharacters(in: .whitespaces).split(
            separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) else {
            self = .whole
            return
        }
        switch (Self.number(ends[0]), Self.number(ends[1])) {
        case (nil, nil): self = .whole
        case (nil, let length?):
            let hasBytes = length > 0 && byteCount > 0
            self = hasBytes ? .part(max(0, byteCount - length)..<byteCount) : .unsatisfiable
        case (let first?, let last) where last ?? first < first: self = .whole
        case (let first?, let last):
            let end = last.map { min($0, byteCount - 1) + 1 } ?? byteCount
            self = first < byteCount ? .part(first..<end) : .unsatisfiable
        }
    }

    /// Returns a number of digits, of which those beyond 64 bits are as large as can be; `nil` for no digits.
    private static func number(_ digits: some StringProtocol) -> Int? {
        digits.isEmpty ? nil : Int(digits) ?? .max
    }
}
