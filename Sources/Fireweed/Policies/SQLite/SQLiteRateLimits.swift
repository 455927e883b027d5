// The slots of a rate limit, for the processes of one machine.

#if SQLite
import Dispatch
import FireweedTransport
package import Foundation

/// Keeps the slots of rate limits in an SQLite file.
///
/// A damaged file is renamed to `…-damaged` and replaced by an empty one: slots and pauses are short-lived.
package final class SQLiteRateLimits: RateLimitBackend, @unchecked Sendable {
    // SAFETY: the database and the count are used only on the serial queue.
    private var database: FollowedDatabase
    private var changeCount = 0
    private let queue = DispatchQueue(label: "fireweed.sqlite.rate-limits")
    private let name: String
    package let fallback: RateLimitFallback

    /// Longest time that a request waits for the locks of other processes.
    private static let waiting = DatabaseSource.Waiting(milliseconds: 1000, lockMilliseconds: 1000)
    private static let opening = DatabaseSource.Waiting(milliseconds: 5000, lockMilliseconds: 5000)
    /// The longest pause in nanoseconds, whatever a damaged row says: one day, the maximum of
    /// `RateLimiter.maximumPause`.
    private static let longestPause: UInt64 = 86_400_000_000_000
    /// After this many changes, keys without a future slot or a pause are removed.
    private static let sweepInterval = 1024

    /// Opens a file, or makes it for its owner only.
    ///
    /// - Parameters:
    ///   - file: the database.
    ///   - name: distinguishes limits that have the same keys.
    ///   - fallback: what a request does while the file cannot be used.
    /// - Throws: `RateLimitError.cannotOpen(path:reason:)`.
    package init(file: URL, name: String, fallback: RateLimitFallback) throws(RateLimitError) {
        self.name = name
        self.fallback = fallback
        let source = DatabaseSource(path: file.path, replacesDamaged: true) {
            (connection, _) throws(SQLiteFailure) in
            try connection.leaveWriteAheadLog()
            // A power failure restarts the machine, and slots from before a restart do not count: writes need not reach
            // the disk.
            try connection.run("PRAGMA synchronous = OFF")
            try connection.run(
                """
                CREATE TABLE IF NOT EXISTS slots (
                    key TEXT PRIMARY KEY, boot TEXT NOT NULL, planned INTEGER NOT NULL, paused INTEGER NOT NULL)
                    WITHOUT ROWID
                """)
            // A `DELETE` waits for all readers, even if no row matches: so the rows are counted first.
            let earlier = "FROM slots WHERE boot <> ?"
            if try connection.number("SELECT count(*) \(earlier)", .text(BootClock.identifier)) > 0 {
                try connection.run("DELETE \(earlier)", .text(BootClock.identifier))
            }
        }
        do throws(SQLiteFailure) {
            database = try FollowedDatabase(source, waiting: Self.waiting, opening: Self.opening)
        } catch {
            throw .cannotOpen(path: file.path, reason: error.reason)
        }
    }

    /// The state of a key, in nanoseconds of `BootClock`.
    private struct Row: Sendable {
        /// The next slot without a burst.
        var planned: UInt64 = 0
        var pausedUntil: UInt64 = 0
    }

    package func reserve(
        _ key: String, limit: RateLimit, count: Int, maximumWait: Duration?
    ) async throws -> RateLimitReply {
        let (slots, now) = try await take(key, limit: limit, count: count, maximumWait: maximumWait)
        let age = BootClock.nanoseconds - now
        return RateLimitReply(slots: slots.map(\.slot), age: .nanoseconds(Int64(clamping: age)))
    }

    /// Takes slots, and returns them with their moments in microseconds of `BootClock`; 0 for a slot that was not
    /// taken.
    package func reserveMoments(
        _ key: String, limit: RateLimit, count: Int, maximumWait: Duration?
    ) async throws -> [(slot: RateLimitSlot, moment: Int64)] {
        try await take(key, limit: limit, count: count, maximumWait: maximumWait).slots
    }

    /// Takes slots; returns them with their moments, and the time in nanoseconds from which their waits count.
    private func take(
        _ key: String, limit: RateLimit, count: Int, maximumWait: Duration?
    ) async throws -> (slots: [(slot: RateLimitSlot, moment: Int64)], now: UInt64) {
        let longest = maximumWait?.nanosecondCount ?? .max
        return try await change(key) { row, now in
            let start = max(now, row.pausedUntil)
            let slots: [(slot: RateLimitSlot, moment: Int64)] = (0..<count).map { _ in
                let slot = max(start, row.planned > limit.tolerance ? row.planned - limit.tolerance : 0)
                let wait = slot - now
                guard wait <= longest else { return (.tooLate(.nanoseconds(Int64(clamping: wait))), 0) }
                let (next, isOver) = max(row.planned, slot).addingReportingOverflow(limit.interval)
                row.planned = min(isOver ? .max : next, UInt64(Int64.max))
                return (.after(.nanoseconds(Int64(clamping: wait))), Int64(clamping: slot / 1000))
            }
            return (slots, now)
        }
    }

    package func pause(of key: String) async throws -> Duration? {
        try await change(key) { row, now in
            row.pausedUntil > now ? .nanoseconds(Int64(clamping: row.pausedUntil - now)) : nil
        }
    }

    package func setPause(_ duration: Duration, of key: String) async {
        // A failure is ignored: this process still keeps the pause, in its local queues.
        try? await change(key) { row, now in
            row.pausedUntil = max(row.pausedUntil, min(now &+ duration.nanosecondCount, UInt64(Int64.max)))
        }
    }

    // MARK: The file

    /// Changes the state of a key, in one transaction.
    private func change<Result: Sendable>(
        _ key: String, _ body: @escaping @Sendable (inout Row, _ now: UInt64) -> Result
    ) async throws -> Result {
        let key = Hash.sha256.hexadecimalDigest(of: "\(name)\n\(key)")
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { [self] in
                do throws(SQLiteFailure) {
                    let result = try database.use { (connection: SQLiteConnection) throws(SQLiteFailure) in
                        try connection.transaction { () throws(SQLiteFailure) in
                            // The time is read under the lock, so that a later transaction of any process has a
                            // later time.
                            let now = BootClock.nanoseconds
                            var row = try Self.row(key, connection, now)
                            let result = body(&row, now)
                            try Self.write(row, key, connection)
                            return result
                        }
                    }
                    continuation.resume(returning: result)
                } catch {
                    return continuation.resume(throwing: error.storeError)
                }
                sweep()
            }
        }
    }

    private static func row(
        _ key: String, _ connection: SQLiteConnection, _ now: UInt64
    ) throws(SQLiteFailure) -> Row {
        var row = Row()
        let statement = try connection.statement("SELECT planned, paused FROM slots WHERE key = ? AND boot = ?")
        let names: [SQLiteValue] = [.text(key), .text(BootClock.identifier)]
        try statement.rows(names) { (found: SQLiteStatement) throws(SQLiteFailure) in
            let pausedUntil = min(UInt64(clamping: found.number(1)), now + longestPause)
            row = Row(planned: UInt64(clamping: found.number(0)), pausedUntil: pausedUntil)
        }
        return row
    }

    private static func write(_ row: Row, _ key: String, _ connection: SQLiteConnection) throws(SQLiteFailure) {
        try connection.run(
            "INSERT OR REPLACE INTO slots VALUES (?, ?, ?, ?)", .text(key), .text(BootClock.identifier),
            .number(Int(clamping: row.planned)), .number(Int(clamping: row.pausedUntil)))
    }

    /// After every `sweepInterval` changes, removes keys without a future slot or a pause.
    private func sweep() {
        changeCount += 1
        guard changeCount.isMultiple(of: Self.sweepInterval) else { return }
        let now = Int(clamping: BootClock.nanoseconds)
        // A failure is ignored: a later sweep removes the rows.
        try? database.use { (connection: SQLiteConnection) throws(SQLiteFailure) in
            try connection.run("DELETE FROM slots WHERE planned < ? AND paused < ?", .number(now), .number(now))
        }
    }
}
#endif
