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
        /// How many slots this process has missed before it took this one.
        var lossCount = 0

        init(key: String, clock: any SessionClock) {
            self.key = key
            self.clock = clock
        }

        /// Returns this slot, moved to a time from now; a negative time gives a moment in the past.
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

        /// How long ago the moment passed; zero before the moment.
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
        /// The question asks for new slots instead of these, for which this process was late.
        case lost([Slot])
        case requests([Entry])
    }

    /// The requests of all keys: requests without a slot, and requests that wait for their slots.
    struct State {
        private struct Line {
            var isAsking = false
            /// Requests for which the backend has not been asked yet.
            var asking: [Entry] = []
            var lost: [Slot] = []
            /// The numbers of requests that wait for their slots, the oldest first; some of the requests may have
            /// ended.
            var waiting = ElementQueue<UInt64>()
            var waitingCount = 0
        }

        private var lines: [String: Line] = [:]
        /// The requests that wait for their slots, by number.
        private var entries: [UInt64: Entry] = [:]
        private var lastNumber: UInt64 = 0

        /// The most slots that one question asks for.
        private let batchCount: Int

        init(batchCount: Int) {
            self.batchCount = batchCount
        }

        /// Notes a request that needs a slot; returns true if no question is under way, so that the caller must begin
        /// to ask.
        mutating func enter(_ entry: Entry, _ key: String) -> Bool {
            lines[key, default: Line()].asking.append(entry)
            return beginAsking(for: key)
        }

        /// Notes a slot for which this process was late; returns true if no question is under way, so that the caller
        /// must begin to ask.
        mutating func lose(_ slot: Slot) -> Bool {
            guard let line = lines[slot.key], line.waitingCount > 0 else {
                // All requests of the key have ended: `next` removes their numbers.
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

        /// Returns the next question; `nil` if there is none: then the next `enter` or `lose` returns true.
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

        // MARK: Requests that wait for their slots

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
