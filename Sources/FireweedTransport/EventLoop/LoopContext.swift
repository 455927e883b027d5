// The state of a loop's own thread: its sockets, its deadlines and its clock.

import CLinux
import Glibc

/// A moment of `CLOCK_MONOTONIC`, in nanoseconds.
typealias LoopInstant = UInt64

/// An object with a report for the end of a turn; called on the loop's thread.
protocol TurnEnding: AnyObject {
    func turnEnds()
}

/// Work that takes more than one turn of the loop, or that runs after the sockets; called on the loop's thread.
protocol NextIteration: AnyObject {
    func continueWork()
}

/// A channel to be closed; called on the loop's thread.
protocol ClosableChannel {
    func close()
}

/// The state of a loop, made on its thread and handed to the work that runs there.
///
/// It is not `Sendable` and cannot be reached from outside, so the compiler keeps it on the loop's thread.
final class LoopContext {
    let loop: EventLoop
    /// The monotonic clock when the current turn of the loop began, or when the last exchange began: exact enough for
    /// time-outs, and read without a call.
    private(set) var now: LoopInstant
    var sockets: SocketRegistry
    /// The number of the current turn.
    private(set) var turnNumber: UInt64 = 0
    /// Whether the current turn began with a poll of the sockets.
    private(set) var hasPolled = false
    /// Whether every event of that poll has been delivered.
    private(set) var areEventsKnown = false
    /// The deadlines of everything on the loop: a turn costs the same, however many sessions wait.
    let deadlines = DeadlineHeap()
    /// Owners of idle connections.
    private var holders: [ObjectIdentifier: any IdleConnectionHolder] = [:]
    /// The steps of this loop's handshakes that other threads make.
    var offloadedSteps = OffloadedSteps()

    /// The work that waits for the loop, and the rest of the current turn's budget.
    private struct Agenda {
        var turn: TurnBudget
        var endings = ElementQueue<any TurnEnding>()
        var continuations = ElementQueue<any NextIteration>()
        /// Continuations that may take as long as a turn each.
        var dearWork = ElementQueue<any NextIteration>()
        /// Channels that a turn had no time to close.
        var closing = ElementQueue<any ClosableChannel>()
    }

    // SAFETY: the loop's thread alone uses the agenda, and what waits is taken from it before it is called. Debug
    // builds, in which the tests run, check the exclusive access.
    #if !DEBUG
    @exclusivity(unchecked)
    #endif
    private var agenda: Agenda

    /// The rest of the current turn's budget.
    var turn: TurnBudget {
        _read { yield agenda.turn }
        _modify { yield &agenda.turn }
    }

    /// The read buffer of all connections of the loop; only the pages that were used take memory.
    ///
    /// Its content is valid until the loop's next call of a connection. The buffer lives as long as the process, as
    /// loops do.
    lazy var readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 512 * 1024, alignment: 4096)
    /// The buffer for decoded content, which is valid during the call that passes it on.
    lazy var decodingBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 4096)

    #if DEBUG
    /// Measures turns; `nil` unless FIREWEED_TURN_LIMIT is set.
    let watch = TurnWatch.make()
    #endif

    /// Buffers for TLS records that no call uses; usually one for all connections of the loop.
    private var recordBuffers: [UnsafeMutableRawBufferPointer] = []

    /// The most reports that wait for the end of a turn.
    private static let endingLimit = 16

    init(loop: EventLoop, poller: Poller) {
        self.loop = loop
        let now = Self.monotonicNow()
        self.now = now
        agenda = Agenda(turn: TurnBudget(start: now))
        sockets = SocketRegistry(poller: poller)
    }

    func add(_ holder: any IdleConnectionHolder) {
        holders[ObjectIdentifier(holder)] = holder
    }

    func remove(_ holder: any IdleConnectionHolder) {
        holders[ObjectIdentifier(holder)] = nil
    }

    /// Calls `ending` at the end of this turn: sooner when many wait, or in a later turn when this one is over.
    ///
    /// Reports are delivered together, because a batch wakes a sleeping thread once.
    func atEndOfTurn(_ ending: any TurnEnding) {
        agenda.endings.append(ending)
        if agenda.endings.count >= Self.endingLimit, !turn.isOver { endTurn() }
    }

    /// Delivers waiting reports: up to 16 in any case, and more while the turn has time.
    ///
    /// A report may add others.
    func endTurn() {
        var owed = Self.endingLimit
        while owed > 0 || !turn.isOver, let ending = agenda.endings.popFirst() {
            watched(ending) { ending.turnEnds() }
            owed -= 1
            turn.noteCost(TurnBudget.callCost)
        }
    }

    /// Calls `continuation` after the sockets of this turn; from inside such a call, in the next turn.
    func continueAfterSockets(_ continuation: any NextIteration) {
        agenda.continuations.append(continuation)
    }

    /// Runs waiting continuations in their order: at least one, and more while the turn has time.
    func runContinuations() {
        var count = agenda.continuations.count
        while count > 0, let next = agenda.continuations.popFirst() {
            watched(next) { next.continueWork() }
            count -= 1
            turn.noteCost(TurnBudget.callCost)
            if turn.isOver { return }
        }
    }

    /// Calls `continuation` after all others, for work that may fill a turn: decoding, or a step of a TLS handshake.
    ///
    /// Each turn makes one such call: a poll takes less time than any of them, and sockets wait for one at most.
    func continueWithDearWork(_ continuation: any NextIteration) {
        agenda.dearWork.append(continuation)
    }

    /// Whether more dear work waits, here or on other threads, which get on with theirs.
    var isBusy: Bool { (offloadedSteps.count > 0 || !agenda.dearWork.isEmpty) && offloadedSteps.getOn(at: now) }

    /// Runs one waiting piece of work of `continueWithDearWork`, and then closes waiting channels.
    func runDearWork() {
        if let next = agenda.dearWork.popFirst() {
            watched(next) { next.continueWork() }
            turn.noteCost(TurnBudget.costOfLook)
        }
        while !agenda.closing.isEmpty {
            agenda.closing.popFirst()?.close()
            turn.noteCost(TurnBudget.callCost)
            if turn.isOver { return }
        }
    }

    /// Closes a channel now, or in a later turn if this one is over.
    func close(_ channel: any ClosableChannel) {
        if turn.isOver { return agenda.closing.append(channel) }
        channel.close()
        turn.noteCost(TurnBudget.callCost)
    }

    /// Closes waiting channels; false when there is none.
    func finishClosing() -> Bool {
        guard !agenda.closing.isEmpty else { return false }
        while let channel = agenda.closing.popFirst() { channel.close() }
        return true
    }

    /// Closes idle connections until each pool of the loop has `count`, and releases their descriptors.
    func closeIdle(keeping count: Int) {
        for holder in holders.values { holder.closeIdle(keeping: count) }
        _ = finishClosing()
    }

    /// Gives the next turn its budget, and ends the watched time of the turn before.
    func beginBudget() {
        #if DEBUG
        watch?.turnEnds()
        #endif
        updateNow()
        turn = TurnBudget(start: now)
    }

    /// Runs a piece of work of this turn, measured under the name of the object that does it.
    @inline(__always)
    func watched(_ worker: AnyObject, _ work: () -> Void) {
        #if DEBUG
        if let watch { return watch.measure("\(type(of: worker))", work) }
        #endif
        work()
    }

    /// Gives a buffer for TLS records, for the time of a call.
    ///
    /// TLS inside TLS takes one for each.
    func takeRecordBuffer() -> UnsafeMutableRawBufferPointer {
        recordBuffers.popLast() ?? .allocate(byteCount: 256 * 1024, alignment: 4096)
    }

    /// Takes a buffer back.
    func giveBack(recordBuffer: UnsafeMutableRawBufferPointer) {
        recordBuffers.append(recordBuffer)
    }

    /// Begins the events of a turn: none of them has been delivered.
    func beginEvents(hasPolled: Bool) {
        turnNumber &+= 1
        self.hasPolled = hasPolled
        areEventsKnown = false
    }

    /// Notes that all events of the turn's poll were delivered; with `areAll`, the kernel had no more of them.
    func eventsAreDelivered(areAll: Bool) {
        areEventsKnown = hasPolled && areAll
    }

    func updateNow() {
        now = Self.monotonicNow()
    }

    /// How long the loop may sleep, in milliseconds as epoll_wait(2) counts them: -1 for no limit.
    func sleepMilliseconds() -> Int32 {
        guard agenda.continuations.isEmpty, agenda.dearWork.isEmpty, agenda.closing.isEmpty, agenda.endings.isEmpty
        else { return 0 }
        guard let earliest = deadlines.first else { return -1 }
        guard earliest > now else { return 0 }
        // The time is rounded up: waking a little late costs nothing, and waking early costs a turn.
        let milliseconds = (earliest - now + 999_999) / 1_000_000
        return Int32(min(milliseconds, 3_600_000))
    }

    static func monotonicNow() -> LoopInstant {
        fw_clock_nanoseconds(CLOCK_MONOTONIC)
    }
}
