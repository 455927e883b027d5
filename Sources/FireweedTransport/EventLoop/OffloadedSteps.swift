// The work of a loop on threads of a low priority, and how it gets on there.

/// The steps that other threads make for a loop.
///
/// A step is one of a TLS handshake. On a busy machine those threads, whose priority is low, have a tenth of a core;
/// the loop then makes steps itself.
struct OffloadedSteps {
    /// A step that is made.
    struct Entry {
        fileprivate let start: LoopInstant
        /// The number of steps up to this one that were not made yet.
        fileprivate let place: Int
    }

    private(set) var count = 0
    /// When a step was last begun or ended.
    private var lastChange: LoopInstant = 0
    /// When a step last ended; 0 before.
    private var lastEnd: LoopInstant = 0
    /// The time that this step took, in nanoseconds, without its wait for earlier ones.
    private var lastDuration: LoopInstant = 0
    /// Whether the loop never makes steps while others do; for tests.
    var areForced = false

    /// The number of steps that are begun while nothing is known of late.
    private static let trialCount = 8
    /// The time, in nanoseconds, for which the duration of a step is remembered.
    private static let memory: LoopInstant = 1_000_000_000
    /// The longest time of a step with which they get on, in nanoseconds: a signature with a key of RSA-4096 takes 6
    /// milliseconds at most.
    private static let longestDuration: LoopInstant = 8_000_000
    /// The longest time without the end of a step, in nanoseconds.
    private static let longestSilence: LoopInstant = 20_000_000

    mutating func begin(at now: LoopInstant) -> Entry {
        count += 1
        lastChange = now
        return Entry(start: now, place: count)
    }

    mutating func end(_ entry: Entry, at now: LoopInstant) {
        count -= 1
        (lastChange, lastEnd) = (now, now)
        lastDuration = (max(now, entry.start) - entry.start) / LoopInstant(entry.place)
    }

    /// Whether another step can be left to the other threads.
    func getOn(at now: LoopInstant) -> Bool {
        guard !areForced else { return true }
        guard lastEnd > 0, now < lastEnd.addingSaturating(Self.memory) else { return count < Self.trialCount }
        return lastDuration <= Self.longestDuration
            && (count == 0 || now <= lastChange.addingSaturating(Self.longestSilence))
    }
}
