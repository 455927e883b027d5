// The freshness lifetime and the age of a response (RFC 9111 §4.2).

package import FireweedTransport
package import Foundation

/// The arithmetic of freshness, in seconds.
package enum Freshness {
    /// The statuses that a cache may treat as fresh without explicit freshness (RFC 9110 §15.1).
    static let heuristicStatuses: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]
    /// The heuristic lifetime, as a share of the representation's age (§4.2.2).
    private static let heuristicShare = 0.1
    /// The longest heuristic lifetime: a week.
    private static let heuristicLimit: TimeInterval = 7 * 86_400

    /// The freshness lifetime of a response, in seconds (§4.2.1).
    ///
    /// `max-age` wins over `Expires`; an `Expires` that is not a date is in the past (§5.3); the heuristic applies only
    /// when the response has neither.
    package static func lifetime(of stored: StoredHead, control: CacheControl) -> TimeInterval {
        if let maxAge = control.maxAge { return maxAge }
        let head = stored.response
        if let expires = head.value(of: "Expires") {
            guard let date = HTTPDate.parse(expires, now: stored.responseTime) else { return 0 }
            return max(0, date.timeIntervalSince(stored.originDate))
        }
        return heuristicLifetime(of: stored, control: control)
    }

    private static func heuristicLifetime(of stored: StoredHead, control: CacheControl) -> TimeInterval {
        guard heuristicStatuses.contains(stored.response.status) || control.isPublic,
            let text = stored.response.value(of: "Last-Modified"),
            let modified = HTTPDate.parse(text, now: stored.responseTime)
        else { return 0 }
        return min(max(0, stored.originDate.timeIntervalSince(modified) * heuristicShare), heuristicLimit)
    }

    /// The age of a response at `now`, in seconds (§4.2.3).
    package static func age(of stored: StoredHead, at now: Date) -> TimeInterval {
        let apparent = max(0, stored.responseTime.timeIntervalSince(stored.originDate))
        let delay = max(0, stored.responseTime.timeIntervalSince(stored.requestTime))
        let initial = max(apparent, announcedAge(of: stored.response) + delay)
        return initial + max(0, now.timeIntervalSince(stored.responseTime))
    }

    /// The `Age` field in seconds: only the first of several values is used; 0 without the field, or if it is not a
    /// number (§5.1).
    package static func announcedAge(of head: ResponseHead) -> TimeInterval {
        guard let value = head.values(of: "Age").first else { return 0 }
        let first = value.split(separator: ",", maxSplits: 1).first.map { $0.trimmingCharacters(in: .whitespaces) }
        return CacheControl.delta(first) ?? 0
    }

    /// The time at which the response was made: its `Date`, else `time`, when it was received (RFC 9110 §6.6.1).
    package static func originDate(of head: ResponseHead, receivedAt time: Date) -> Date {
        head.values(of: "Date").first.flatMap { HTTPDate.parse($0, now: time) } ?? time
    }
}
