// The rate limits that servers announce.

package import Foundation

/// Reads `Retry-After` (RFC 9110 §10.2.3), `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers, in
/// its present and its older forms), and `X-RateLimit-…`.
package struct RateLimitFields: Sendable, Equatable {
    /// How many requests the server still accepts, and for how many seconds from now.
    package struct Quota: Sendable, Equatable {
        package let remaining: Int
        package let seconds: TimeInterval
    }

    /// Seconds in which nothing may be sent; `nil` when the response does not ask for a pause.
    package private(set) var pause: TimeInterval?
    /// The strictest quota in `RateLimit`; without one, the quota in `RateLimit-…` fields; without these, in
    /// `X-RateLimit-…` fields.
    package private(set) var quota: Quota?

    /// The longest time, in seconds, for which a server may hold requests back: a day.
    package static let longestPause: TimeInterval = 86_400

    /// The longest `RateLimit` or `RateLimit-Policy` field that is read, in bytes; a longer one is ignored, since
    /// fields are read on an event loop's thread.
    private static let longestField = 8192

    /// Reads the fields of a response.
    ///
    /// - Parameters:
    ///   - status: the status; `Retry-After` counts only with 429 and 503.
    ///   - now: the current date, from which dates in fields are counted.
    ///   - value: the value of a field by its name, several lines joined with commas; `nil` for none.
    package init(status: Int, now: Date, value: (String) -> String?) {
        if status == 429 || status == 503, let text = value("Retry-After") {
            pause = RetryAfter.seconds(in: text, now: now).map { min($0, Self.longestPause) }
        }
        quota =
            Self.draft(Self.short(value("RateLimit")), policy: Self.short(value("RateLimit-Policy")), now: now)
            ?? Self.single(value("RateLimit-Remaining"), value("RateLimit-Reset"), now: now)
            ?? Self.single(value("X-RateLimit-Remaining"), value("X-RateLimit-Reset"), now: now)
    }

    // MARK: The draft

    private static func short(_ field: String?) -> String? {
        field.flatMap { $0.utf8.count <= longestField ? $0 : nil }
    }

    /// Reads the quota in `"default";r=50;t=30`, or in `limit=100, remaining=50, reset=30` of older drafts.
    private static func draft(_ field: String?, policy: String?, now: Date) -> Quota? {
        guard let field else { return nil }
        let members = split(field, at: ",").map { split($0, at: ";") }
        let policies = split(policy ?? "", at: ",").map { split($0, at: ";") }
        let windows = Dictionary(policies.map { ($0.first, $0) }) { first, _ in first }
        var quotas: [Quota] = []
        for member in members {
            guard let remaining = number("r", in: member) else { continue }
            let window = windows[member.first].flatMap { number("w", in: $0) }
            guard let reset = number("t", in: member) ?? window else { continue }
            quotas.append(Quota(remaining: remaining, seconds: seconds(until: reset, now: now)))
        }
        let older = members.flatMap(\.self)
        if quotas.isEmpty, let remaining = number("remaining", in: older), let reset = number("reset", in: older) {
            quotas.append(Quota(remaining: remaining, seconds: seconds(until: reset, now: now)))
        }
        return quotas.min { ($0.remaining, -$0.seconds) < ($1.remaining, -$1.seconds) }
    }

    /// Splits a text at each separator outside of double quotes; the parts are trimmed.
    private static func split(_ text: String, at separator: Unicode.Scalar) -> [String] {
        var parts: [String.UnicodeScalarView] = [String.UnicodeScalarView()]
        var isQuoted = false
        for scalar in text.unicodeScalars {
            if scalar == "\"" { isQuoted.toggle() }
            if scalar == separator, !isQuoted {
                parts.append(String.UnicodeScalarView())
            } else {
                parts[parts.count - 1].append(scalar)
            }
        }
        return parts.map { String($0).trimmingCharacters(in: .whitespaces) }
    }

    private static func number(_ name: String, in parameters: [String]) -> Int? {
        for parameter in parameters {
            let pair = parameter.split(separator: "=", maxSplits: 1)
            if pair.count == 2, pair[0].lowercased() == name { return number(pair[1]) }
        }
        return nil
    }

    // MARK: Single fields

    /// Reads a quota from two fields: the remaining requests, and the reset.
    private static func single(_ remaining: String?, _ reset: String?, now: Date) -> Quota? {
        guard let remaining = remaining.flatMap({ number(Substring($0)) }),
            let reset = reset.flatMap({ number(Substring($0)) })
        else { return nil }
        return Quota(remaining: remaining, seconds: seconds(until: reset, now: now))
    }

    /// Returns the seconds until a reset; many servers send the moment instead, as a Unix time in seconds or
    /// milliseconds.
    private static func seconds(until reset: Int, now: Date) -> TimeInterval {
        let number = TimeInterval(reset)
        let seconds =
            switch number {
            case ...1e9: number
            case ...1e12: number - now.timeIntervalSince1970
            default: number / 1000 - now.timeIntervalSince1970
            }
        return min(max(0, seconds), longestPause)
    }

    /// Reads a number of up to 15 digits; `nil` for any other text.
    private static func number(_ text: Substring) -> Int? {
        let digits = text.trimmingCharacters(in: .whitespaces)
        guard digits.utf8.count <= 15, digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(digits)
    }
}
