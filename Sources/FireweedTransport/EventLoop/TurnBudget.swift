// The amount of work that fits into one turn of a loop.

/// The remaining budget of a turn: time and decoded bytes.
///
/// Work that can be interrupted checks `isOver` after each of its parts, and continues in a later turn. The clock is
/// read only after `noteCost` has counted enough work. Reading the monotonic clock takes 28 ns and no system call;
/// reading `CLOCK_THREAD_CPUTIME_ID` takes a system call and 620 ns (Linux 6.18, a virtual machine). So the monotonic
/// clock is used, although a preempted thread then ends its turn early, which costs one poll of the sockets. Used on a
/// loop's thread.
package struct TurnBudget {
    /// The longest time of a turn, in nanoseconds.
    package static let time: UInt64 = 2_000_000
    /// The most bytes that content codings consume or produce in a turn, over all layers.
    static let decodedByteCount = 256 * 1024
    /// The cost of work after which the clock is read, in decoded bytes.
    static let costOfLook = 16 * 1024
    /// The number of small pieces of one kind that are done even if the turn is over: work from the mailbox, time-outs,
    /// and events of one read.
    static let eventCount = 64
    /// The cost of one small piece of work: a system call, an event of a socket or of a message.
    static let callCost = 2 * 1024

    private let end: LoopInstant
    private let clock: () -> LoopInstant
    private var decodedRest = decodedByteCount
    private var costUntilLook = costOfLook
    /// Whether the turn has to end.
    package private(set) var isOver = false

    /// Begins a turn at a moment; `clock` gives later moments.
    package init(start: UInt64, clock: @escaping () -> UInt64 = LoopContext.monotonicNow) {
        end = start.addingSaturating(Self.time)
        self.clock = clock
    }

    /// Whether work that consists of many small pieces may continue after `count` pieces.
    func allows(_ count: Int) -> Bool { count < Self.eventCount || !isOver }

    /// Counts work by its cost, and reads the clock when enough work has been counted.
    mutating func noteCost(_ cost: Int) {
        costUntilLook -= cost
        guard costUntilLook <= 0, !isOver else { return }
        costUntilLook = Self.costOfLook
        if clock() >= end { isOver = true }
    }

    /// Counts bytes that a content coding consumed or produced.
    mutating func noteDecoded(_ byteCount: Int) {
        decodedRest -= byteCount
        if decodedRest <= 0 { isOver = true }
        noteCost(byteCount)
    }
}
