// Requests that wait at a shared limit.

import FireweedTransport

extension SharedRateLimits {
    /// A request, and its handler for failures of the backend.
    struct Entry: Sendable {
        let passage: RateLimitPermit
        /// Takes the request when the backend fails.
        let otherwise: @Sendable (RateLimitPermit) -> Void
    }

    /// A moment at which one request of a key may be sent, on the clock of the request that took the slot.
    struct Slot: Sendable {
        let key: String
        let clock: any SessionClock
        private var moment: UInt64 = 0
        private var machineMoment: UInt64 = 0
        /// How often this slot replaced a slot for which this process was late.
        var lossCount = 0

        init(key: String, clock: any SessionClock) {
            self.key = key
            self.clock = clock
        }

        /// The slot at a time from now, which is negative for a moment in the past.
        func moved(to wait: Duration) -> Slot {
            var slot = self
            slot.moment = Self.moment(wait, after: clock.monotonicNanoseconds)
            slot.machineMoment = Self.moment(wait, after: SystemClock().monotonicNanoseconds)
            return slot
        }

        /// The time until the moment; zero when it is over.
        var timeLeft: Duration {
            let now = clock.monotonicNanoseconds
            return moment > now ? .nanoseconds(Int64(clamping: moment - now)) : .zero
        }

        /// How long the moment has been over; zero when it has not come.
        ///
        /// A test clock jumps over moments: a slot is late only when it is late on the machine's clock too.
        var lateness: Duration {
            let time = min(
                Self.time(since: moment, now: clock.monotonicNanoseconds),
                Self.time(since: machineMoment, now: SystemClock().monotonicNanoseconds))
            return .nanoseconds(Int64(clamping: time))
        }

        private static func moment(_ wait: Duration, after now: UInt64) -> UInt64 {
            let past = (.zero - wait).nanosecondCount
            return wait > .zero ? now &+ wait.nanosecondCount : now - min(now, past)
        }

        private static func time(since moment: UInt64, now: UInt64) -> UInt64 { now - min(now, moment) }
    }

    enum Question {
        /// New slots, instead of these slots for which this process was late.
        case lost([Slot])
        case requests([Entry])
    }

    /// The requests of all keys: requests without a slot, and requests whose slots are to come.
    struct State {
        private struct Line {
            var isAsking = false
            /// Requests without a slot, for the next questions.
            var asking: [Entry] = []
            var lost: [Slot] = []
            /// The numbers of requests whose slots are to come, some of which may have ended.
            var waiting = ElementQueue<UInt64>()
            var waitingCount = 0
        }

        private var lines: [String: Line] = [:]
        /// The requests whose slots are to come.
        private var entries: [UInt64: Entry] = [:]
        private var lastNumber: UInt64 = 0

        /// The most slots that one question asks for.
        private let batchCount: Int

        init(batchCount: Int) {
            self.batchCount = batchCount
        }

        /// Notes a request that needs a slot; true when no question is under way.
        mutating func enter(_ entry: Entry, _ key: String) -> Bool {
            lines[key, default: Line()].asking.append(entry)
            return beginAsking(for: key)
        }

        /// Notes a slot for which this process was late; true when no question is under way.
        mutating func lose(_ slot: Slot) -> Bool {
            guard let line = lines[slot.key], line.waitingCount > 0 else {
                // The request of this slot has ended.
                _ = next(of: slot.key)
                return false
            }
            var lost = slot
            lost.lossCount += 1
            lines[slot.key]?.lost.append(lost)
            return beginAsking(for: slot.key)
        }

        private mutating func beginAsking(for key: String) -> Bool {
            defer { lines[key]?.isAsking = true }
            return lines[key]?.isAsking == false
        }

        /// The next question; after `nil`, for none, the next `enter` or `lose` begins to ask again.
        mutating func nextQuestion(for key: String) -> Question? {
            guard let line = lines[key] else { return nil }
            if !line.lost.isEmpty {
                lines[key]?.lost = Array(line.lost.dropFirst(batchCount))
                return .lost(Array(line.lost.prefix(batchCount)))
            }
            if !line.asking.isEmpty {
                lines[key]?.asking = Array(line.asking.dropFirst(batchCount))
                return .requests(Array(line.asking.prefix(batchCount)))
            }
            lines[key]?.isAsking = false
            forgetIfIdle(key)
            return nil
        }

        // MARK: Requests whose slots are to come

        func isLineEmpty(of key: String) -> Bool { lines[key]?.waiting.isEmpty ?? true }

        /// Adds a request for which a slot was taken; returns its number.
        mutating func join(_ entry: Entry) -> UInt64 {
            lastNumber += 1
            entries[lastNumber] = entry
            lines[entry.passage.key, default: Line()].waiting.append(lastNumber)
            lines[entry.passage.key]?.waitingCount += 1
            return lastNumber
        }

        /// Removes a request that has ended; if it waits, the requests behind it get its slot.
        mutating func leave(_ number: UInt64) {
            guard let entry = entries.removeValue(forKey: number) else { return }
            lines[entry.passage.key]?.waitingCount -= 1
        }

        /// Takes the request that has waited longest.
        mutating func next(of key: String) -> Entry? {
            defer { forgetIfIdle(key) }
            while let number = lines[key]?.waiting.popFirst() {
                guard let entry = entries.removeValue(forKey: number) else { continue }
                lines[key]?.waitingCount -= 1
                return entry
            }
            return nil
        }

        private mutating func forgetIfIdle(_ key: String) {
            guard let line = lines[key], !line.isAsking, line.waiting.isEmpty else { return }
            lines[key] = nil
        }
    }
}
