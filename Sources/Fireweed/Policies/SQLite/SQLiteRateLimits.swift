// The slots of a rate limit, for the processes of one machine.

import Dispatch
import FireweedTransport
package import Foundation

/// Takes slots in an SQLite file.
package final class SQLiteRateLimits: RateLimitBackend, @unchecked Sendable {
    // SAFETY: the connection and the variables are touched on the serial queue alone.
    private let connection: SQLiteConnection
    private var changeCount = 0
    /// Until when locks of other processes are not waited for, on the machine's clock in nanoseconds.
    private var busyUntil: UInt64 = 0
    private let queue = DispatchQueue(label: "fireweed.sqlite.rate-limits")
    private let name: String
    package let fallback: RateLimitFallback

    /// Longest time that a request waits for the other processes, in milliseconds.
    private static let busyMilliseconds: Int32 = 1000
    /// Nanoseconds without waiting, after a lock was waited for in vain: the keys would wait one after the other.
    private static let busyPause: UInt64 = 1_000_000_000
    /// After so many changes, keys without anything to remember are removed.
    private static let sweepInterval = 1024

    /// Opens a file, or makes it for its owner alone.
    ///
    /// - Parameters:
    ///   - file: the database.
    ///   - name: tells limits apart that have the same keys.
    ///   - fallback: what a request does while the file cannot be used.
    /// - Throws: `RateLimitError.cannotOpen(path:reason:)`.
    package init(file: URL, name: String, fallback: RateLimitFallback) throws(RateLimitError) {
        self.name = name
        self.fallback = fallback
        do throws(SQLiteFailure) {
            connection = try SQLiteConnection(path: file.path, busyMilliseconds: 5000)
            try connection.useWriteAheadLog(waitingMilliseconds: 5000)
            // After a power cut the slots are those of an earlier run of the machine, which count for nothing.
            try connection.run("PRAGMA synchronous = OFF")
            try connection.run(
                """
                CREATE TABLE IF NOT EXISTS slots (
                    key TEXT PRIMARY KEY, boot TEXT NOT NULL, planned INTEGER NOT NULL, paused INTEGER NOT NULL)
                    WITHOUT ROWID
                """)
            try connection.run("DELETE FROM slots WHERE boot <> ?", .text(BootClock.identifier))
            connection.wait(Self.busyMilliseconds)
        } catch {
            throw .cannotOpen(path: file.path, reason: error.reason)
        }
    }

    /// What is known of a key, in nanoseconds of the machine's clock.
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

    /// The slots, and their moments on the machine's clock in microseconds.
    package func reserveMoments(
        _ key: String, limit: RateLimit, count: Int, maximumWait: Duration?
    ) async throws -> [(slot: RateLimitSlot, moment: Int64)] {
        try await take(key, limit: limit, count: count, maximumWait: maximumWait).slots
    }

    /// The slots with their moments, and the time in nanoseconds from which their waits count.
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
        // The process that was asked for the pause keeps it in any case.
        try? await change(key) { row, now in
            row.pausedUntil = max(row.pausedUntil, min(now &+ duration.nanosecondCount, UInt64(Int64.max)))
        }
    }

    // MARK: The file

    /// Changes what is known of a key, in one transaction.
    private func change<Result: Sendable>(
        _ key: String, _ body: @escaping @Sendable (inout Row, _ now: UInt64) -> Result
    ) async throws -> Result {
        let key = Hash.sha256.hexadecimalDigest(of: "\(name)\n\(key)")
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { [self] in
                guard BootClock.nanoseconds >= busyUntil else {
                    return continuation.resume(throwing: ResponseStoreError.busy)
                }
                var result: Result?
                do throws(SQLiteFailure) {
                    try connection.transaction { () throws(SQLiteFailure) in
                        // Read under the lock: of two processes the later one has the later time.
                        let now = BootClock.nanoseconds
                        var row = try row(key)
                        result = body(&row, now)
                        try write(row, key, now)
                    }
                } catch {
                    if error.isBusy { busyUntil = BootClock.nanoseconds + Self.busyPause }
                    return continuation.resume(throwing: error.storeError)
                }
                if let result { continuation.resume(returning: result) }
            }
        }
    }

    private func row(_ key: String) throws(SQLiteFailure) -> Row {
        var row = Row()
        let statement = try connection.statement("SELECT planned, paused FROM slots WHERE key = ? AND boot = ?")
        let names: [SQLiteValue] = [.text(key), .text(BootClock.identifier)]
        try statement.rows(names) { (found: SQLiteStatement) throws(SQLiteFailure) in
            row = Row(planned: UInt64(clamping: found.number(0)), pausedUntil: UInt64(clamping: found.number(1)))
        }
        return row
    }

    private func write(_ row: Row, _ key: String, _ now: UInt64) throws(SQLiteFailure) {
        try connection.run(
            "INSERT OR REPLACE INTO slots VALUES (?, ?, ?, ?)", .text(key), .text(BootClock.identifier),
            .number(Int(clamping: row.planned)), .number(Int(clamping: row.pausedUntil)))
        changeCount += 1
        guard changeCount.isMultiple(of: Self.sweepInterval) else { return }
        try connection.run(
            "DELETE FROM slots WHERE planned < ? AND paused < ?", .number(Int(clamping: now)),
            .number(Int(clamping: now)))
    }
}
