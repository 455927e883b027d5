// The requests of this process at a limit that several processes share.

import Dispatch
import FireweedTransport
import Foundation
import Synchronization

/// Asks a backend for slots, and lets requests through at their slots.
///
/// One question for each key is under way at a time, for all requests that came before it: so requests have their slots
/// in the order in which they came.
final class SharedRateLimits: Sendable {
    private struct Entry: Sendable {
        let passage: RateLimitPassage
        /// Nanoseconds that the pause lasts that the origin asked this process for.
        let pause: @Sendable () -> UInt64
        /// What becomes of the request without the backend.
        let otherwise: @Sendable (RateLimitPassage) -> Void
    }

    private let backend: any RateLimitBackend
    private let limit: RateLimit
    private let maximumWait: Duration?
    /// The requests of each key that a question is under way for, in their order, without those that it is for.
    private let lines = Mutex<[String: [Entry]]>([:])
    private let queue = DispatchQueue(label: "fireweed.shared-rate-limits")

    /// Most slots that one question asks for.
    private static let batchCount = 64
    /// A pause that another process was asked for may begin while a request waits for its slot: after a longer wait the
    /// request looks again.
    private static let longWait = Duration.milliseconds(100)

    init(_ backend: any RateLimitBackend, limit: RateLimit, maximumWait: Duration?) {
        self.backend = backend
        self.limit = limit
        self.maximumWait = maximumWait
    }

    /// Lets no process send anything for a key.
    func setPause(_ duration: Duration, of key: String) {
        Task { await backend.setPause(duration, of: key) }
    }

    /// Lets a request through at its slot.
    ///
    /// - Parameters:
    ///   - passage: the request.
    ///   - pause: nanoseconds that the pause lasts that the origin asked this process for, zero for none: it is known
    ///     here before it is known to the backend.
    ///   - otherwise: takes the request when the backend fails.
    func enter(
        _ passage: RateLimitPassage, pause: @escaping @Sendable () -> UInt64,
        otherwise: @escaping @Sendable (RateLimitPassage) -> Void
    ) {
        enter(Entry(passage: passage, pause: pause, otherwise: otherwise))
    }

    private func enter(_ entry: Entry) {
        let key = entry.passage.key
        let isFirst = lines.withLock { lines in
            defer { lines[key, default: []].append(entry) }
            return lines[key] == nil
        }
        // A bridge: an adapter is called without a task.
        if isFirst { Task { await self.ask(for: key) } }
    }

    /// Asks until no request waits for a question.
    private func ask(for key: String) async {
        while let entries = lines.withLock({ Self.take(key, &$0) }) {
            let entries = entries.filter { isReady($0) }
            guard !entries.isEmpty else { continue }
            do {
                let slots = try await backend.reserve(
                    key, limit: limit, count: entries.count, maximumWait: maximumWait)
                for (entry, slot) in zip(entries, slots) { follow(slot, entry) }
            } catch {
                for entry in entries { entry.otherwise(entry.passage) }
            }
        }
    }

    /// The next requests of a key; `nil` for none, and then the next request begins a question.
    private static func take(_ key: String, _ lines: inout [String: [Entry]]) -> [Entry]? {
        guard let line = lines[key], !line.isEmpty else {
            lines[key] = nil
            return nil
        }
        lines[key] = Array(line.dropFirst(batchCount))
        return Array(line.prefix(batchCount))
    }

    /// Whether a slot is needed now.
    private func isReady(_ entry: Entry) -> Bool {
        let passage = entry.passage
        guard passage.isWanted else {
            passage.fail(CancellationError())
            return false
        }
        let pause = entry.pause()
        guard pause > 0 else { return true }
        if let maximumWait, pause > maximumWait.nanosecondCount {
            passage.fail(RateLimitError.waitTooLong(.nanoseconds(Int64(clamping: pause))))
        } else {
            wait(.nanoseconds(Int64(clamping: pause)), passage) { [self] in enter(entry) }
        }
        return false
    }

    private func follow(_ slot: RateLimitSlot, _ entry: Entry) {
        switch slot {
        case .tooLate(let duration): entry.passage.fail(RateLimitError.waitTooLong(duration))
        case .after(let duration) where duration <= .zero: entry.passage.proceed()
        case .after(let duration) where duration < Self.longWait:
            wait(duration, entry.passage) { entry.passage.proceed() }
        case .after(let duration):
            wait(duration, entry.passage) { [self] in Task { await look(entry) } }
        }
    }

    /// Asks again for a slot when there is a pause by now.
    private func look(_ entry: Entry) async {
        // The request has its slot: a pause that cannot be asked for does not hold it up.
        let pause = try? await backend.pause(of: entry.passage.key)
        if pause != nil { enter(entry) } else { entry.passage.proceed() }
    }

    /// Calls `body` after a time, unless the request ends before.
    private func wait(_ duration: Duration, _ passage: RateLimitPassage, _ body: @escaping @Sendable () -> Void) {
        passage.announce(duration.nanosecondCount)
        let call = passage.clock.schedule(.delay, after: duration, on: queue) {
            if passage.isWanted { body() } else { passage.fail(CancellationError()) }
        }
        passage.whenRequestEnds { call.cancel() }
    }
}
