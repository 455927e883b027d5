// The requests of this process at a limit that several processes share.

import Dispatch
import FireweedTransport
import Foundation
import Synchronization

/// Asks a backend for slots, and lets requests through at their slots.
///
/// For each key, only one question to the backend is under way, and it asks for the slots of the oldest requests:
/// requests take slots in the order in which they came. Each slot is used by the request that has waited longest. When
/// this process is late for a slot by more than `RateLimit.lateness`, it takes another slot instead, but only twice, so
/// that a machine that is always late still sends.
///
/// When the backend fails, the requests wait in this process's own queue, whose next slot comes after the last slot
/// that the backend gave. When the backend can be used again, requests that still wait in that queue ask the backend
/// for slots: a process never has slots of both at the same time.
final class SharedRateLimits: Sendable {
    private let backend: any RateLimitBackend
    private let limit: RateLimit
    private let lateness: Duration
    private let maximumWait: Duration?
    /// The queues of this process, which also hold the known pauses: those that servers requested from this process,
    /// and those that the backend has reported.
    private let local: LocalRateLimits
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "fireweed.shared-rate-limits")

    /// If a slot is at least this far away, the process asks the backend, shortly before the slot, whether a pause has
    /// begun: a server may have requested one from another process.
    private static let longWait = Duration.milliseconds(100)
    /// The time before the slot at which the process asks whether a pause has begun.
    private static let lead = Duration.milliseconds(50)
    /// How often a slot is replaced because this process was late for it.
    private static let lossLimit = 2

    init(_ backend: any RateLimitBackend, limit: RateLimit, maximumWait: Duration?, local: LocalRateLimits) {
        self.backend = backend
        self.local = local
        self.limit = limit.withReserve
        self.lateness = limit.lateness
        // `batchCount` is the number of slots in 80 ms, but from 8 to 64. It is small, since a process that is late
        // loses all slots that it took at once, and other processes cannot use them. With fewer than 8 slots for each
        // question, the questions to the backend cost too much.
        state = Mutex(State(batchCount: Int(min(64, max(8, 80_000_000 / limit.interval)))))
        self.maximumWait = maximumWait
    }

    /// Stops all processes from sending for a key.
    func setPause(_ duration: Duration, of key: String) {
        Task { await backend.setPause(duration, of: key) }
    }

    /// Lets a request through at its slot; `otherwise` takes the request when the backend fails.
    func enter(_ passage: RateLimitPermit, otherwise: @escaping @Sendable (RateLimitPermit) -> Void) {
        enter(Entry(passage: passage, otherwise: otherwise))
    }

    private func enter(_ entry: Entry) {
        let key = entry.passage.key
        if state.withLock({ $0.enter(entry, key) }) { beginAsking(for: key) }
    }

    /// Asks for slots in a new task; a bridge, since an adapter is called without a task.
    private func beginAsking(for key: String) {
        Task { await self.ask(for: key) }
    }

    // MARK: Questions

    /// Asks for slots until no request or lost slot is left.
    private func ask(for key: String) async {
        while let question = state.withLock({ $0.nextQuestion(for: key) }) {
            switch question {
            case .lost(let slots): await retake(slots)
            case .requests(let entries): await take(entries.filter { isReady($0) }, key)
            }
        }
    }

    /// Takes slots; `maximumWait` does not apply to requests that have already waited in another queue.
    private func take(_ entries: [Entry], _ key: String) async {
        await take(entries.filter(\.passage.hasWaited), key, maximumWait: nil)
        await take(entries.filter { !$0.passage.hasWaited }, key, maximumWait: maximumWait)
    }

    private func take(_ entries: [Entry], _ key: String, maximumWait: Duration?) async {
        guard !entries.isEmpty else { return }
        do {
            let reply = try await backend.reserve(key, limit: limit, count: entries.count, maximumWait: maximumWait)
            hold(reply, of: key, clock: entries[0].passage.clock)
            for (entry, slot) in zip(entries, reply.slots) { follow(slot, reply.age, entry) }
            local.release(key)
        } catch {
            for entry in entries { entry.otherwise(entry.passage) }
        }
    }

    /// Takes new slots for slots that this process was late for; `maximumWait` does not apply, since their requests
    /// have already waited.
    private func retake(_ slots: [Slot]) async {
        do {
            let reply = try await backend.reserve(slots[0].key, limit: limit, count: slots.count, maximumWait: nil)
            hold(reply, of: slots[0].key, clock: slots[0].clock)
            for (slot, next) in zip(slots, reply.slots) {
                switch next {
                case .after(let time), .tooLate(let time): wait(for: slot.moved(to: time - reply.age))
                }
            }
        } catch {
            for slot in slots { nextEntry(of: slot.key).map { $0.otherwise($0.passage) } }
        }
    }

    /// Makes the queue of this process give no slot before the last slot that the backend gave.
    private func hold(_ reply: RateLimitReply, of key: String, clock: any SessionClock) {
        let last = reply.slots.compactMap { if case .after(let time) = $0 { time } else { nil } }.max()
        guard let last else { return }
        let now = clock.monotonicNanoseconds
        local.hold(key, until: now &+ (last - reply.age).nanosecondCount, clock: clock)
    }

    /// Returns whether the request needs a slot now; a request that has ended fails, and during a pause a request
    /// waits, or fails if the pause is longer than `maximumWait`.
    private func isReady(_ entry: Entry) -> Bool {
        let passage = entry.passage
        guard passage.isWanted else {
            passage.fail(CancellationError())
            return false
        }
        let pause = local.pauseLeft(of: passage.key, clock: passage.clock)
        guard pause > 0 else { return true }
        let duration = Duration.nanoseconds(Int64(clamping: pause))
        if let maximumWait, duration > maximumWait {
            passage.fail(RateLimitError.waitTooLong(duration))
        } else {
            passage.announce(duration)
            let call = passage.clock.schedule(.delay, after: duration, on: queue) { [self] in enter(entry) }
            passage.whenRequestEnds { call.cancel() }
        }
        return false
    }

    // MARK: Slots

    private func follow(_ slot: RateLimitSlot, _ age: Duration, _ entry: Entry) {
        let passage = entry.passage
        switch slot {
        case .tooLate(let duration): passage.fail(RateLimitError.waitTooLong(duration))
        case .after(let time):
            let wait = time - age
            let number: UInt64? = state.withLock { state in
                // The common case: a slot for now, and no request that has waited longer.
                if wait <= .zero, wait >= .zero - lateness, state.isLineEmpty(of: passage.key) { return nil }
                return state.join(entry)
            }
            guard let number else { return passage.proceed() }
            if wait > .zero { passage.announce(wait) }
            passage.whenRequestEnds { [weak self] in self?.state.withLock { $0.leave(number) } }
            self.wait(for: Slot(key: passage.key, clock: passage.clock).moved(to: wait))
        }
    }

    /// Calls `use` at the moment of a slot, on the serial queue, so that requests are let through in order.
    private func wait(for slot: Slot) {
        let wait = slot.timeLeft
        guard wait > .zero else { return queue.async { [self] in use(slot) } }
        if wait >= Self.longWait {
            slot.clock.schedule(.delay, after: wait - Self.lead, on: queue) { [self] in Task { await look(slot) } }
        }
        // Reads `timeLeft` again: an automatic test clock may have advanced since the first reading.
        slot.clock.schedule(.delay, after: slot.timeLeft, on: queue) { [self] in use(slot) }
    }

    /// Asks the backend whether a pause has begun; no request waits for the reply.
    private func look(_ slot: Slot) async {
        guard let pause = try? await backend.pause(of: slot.key), pause > .zero else { return }
        local.pause(slot.key, for: pause.nanosecondCount, clock: slot.clock)
    }

    /// Lets the first request through, or takes another slot if this process is late.
    private func use(_ slot: Slot) {
        if slot.lateness > lateness, slot.lossCount < Self.lossLimit {
            if state.withLock({ $0.lose(slot) }) { beginAsking(for: slot.key) }
        } else if let entry = nextEntry(of: slot.key) {
            let isPaused = local.pauseLeft(of: slot.key, clock: slot.clock) > 0
            if isPaused { enter(entry) } else { entry.passage.proceed() }
        }
    }

    /// Takes the request that has waited longest; `nil` when all requests have ended: the slot then stays unused.
    private func nextEntry(of key: String) -> Entry? {
        while let entry = state.withLock({ $0.next(of: key) }) {
            if entry.passage.isWanted { return entry }
            entry.passage.fail(CancellationError())
        }
        return nil
    }
}
