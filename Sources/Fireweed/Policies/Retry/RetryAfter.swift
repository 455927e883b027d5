// The `Retry-After` field (RFC 9110 §10.2.3).

package import Foundation

/// Reads a `Retry-After` field.
package enum RetryAfter {
    /// Returns the seconds to wait from `now` on, never negative; `nil` when the value is neither a number nor a date.
    package static func seconds(in value: String, now: Date) -> TimeInterval? {
        let text = value.trimmingCharacters(in: .whitespaces)
        if !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) {
            return TimeInterval(text)  // any number of digits; the caller has a limit
        }
        return HTTPDate.parse(text, now: now).map { max(0, $0.timeIntervalSince(now)) }
    }
}
