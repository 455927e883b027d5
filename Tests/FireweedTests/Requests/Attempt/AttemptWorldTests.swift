import FireweedTesting
import FireweedTransport
import FixtureServer
import Testing

@testable import Fireweed

/// Plays an attempt's transport, deciders and owner at random, by the rules that these keep to.
private struct World {
    var state = AttemptState()
    var random: SeededGenerator
    /// The transfer that runs, if there is one.
    private var wire: Wire?
    private var flow = Flow.undecided
    private var isMakingMessage = false
    private var isSaving = false
    private(set) var endCount = 0
    private(set) var fault: String?

    private struct Wire {
        var hasHead = false
        var isCancelled = false
        var isDiscarded = false
    }

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    private mutating func chance(_ one: Int) -> Bool { random.next() % UInt64(one) == 0 }

    private mutating func feed(_ event: AttemptState.Event) {
        let effects = state.handle(event)
        if effects.contains(.launch) || effects.contains(.proceed) { isMakingMessage = true }
        if effects.contains(.startTransfer) {
            if wire != nil { fault = "a transfer is started while another one runs" }
            wire = Wire()
            _ = flow.follow(state.holds.flow)
            flow = state.holds.flow
        }
        if effects.contains(.setFlow) { _ = flow.follow(state.holds.flow) }
        if effects.contains(.discard) { wire?.isDiscarded = true }
        if effects.contains(.cancelTransfer) { wire?.isCancelled = true }
        if effects.contains(.save) { isSaving = true }
        if effects.contains(.end) {
            endCount += 1
            if wire != nil { fault = "the attempt ends before its transfer" }
        }
    }

    /// Whether the transfer does what the state says; between two events.
    mutating func check() {
        guard let wire, !wire.isDiscarded, !wire.isCancelled, flow.level != state.holds.flow.level else { return }
        fault = "the transfer was told \(flow), and the state says \(state.holds.flow) in \(state.stage)"
    }

    /// Something that somebody outside does, at any time.
    mutating func meddle() {
        let events: [AttemptState.Event] = [
            .start, .suspend, .resume, .full, .room, .passes, .leaves(isRecorded: chance(2)), .saved,
        ]
        feed(chance(40) ? .cancel : events[Int(random.next() % UInt64(events.count))])
    }

    /// Lets the transport or the attempt's own work take a step; false when there is nothing to be done.
    mutating func work() -> Bool {
        if isMakingMessage, state.stage == .preparing {
            isMakingMessage = false
            feed(chance(8) ? .waits : chance(20) ? .fails : .sends)
            return true
        }
        if state.stage == .waiting {
            feed(chance(4) ? .fails : .wakes)
            isMakingMessage = state.stage == .preparing
            return true
        }
        if isSaving {
            isSaving = false
            feed(.saved)
            return true
        }
        guard let wire else { return false }
        if wire.isCancelled || wire.isDiscarded {
            finish(hasFailed: wire.isCancelled)
        } else if flow.level == .suspended {
            return false
        } else if !wire.hasHead {
            if chance(8) { finish(hasFailed: true, falls: chance(2)) } else { head() }
        } else if flow.level == .running || chance(3) {
            finish(hasFailed: chance(5))
        } else {
            return false
        }
        return true
    }

    private mutating func head() {
        wire?.hasHead = true
        feed(chance(2) ? .asks : chance(4) ? .leaves(isRecorded: chance(2)) : .delivers)
        // The transfer asks after the call.
        _ = flow.follow(state.holds.flow)
    }

    private mutating func finish(hasFailed: Bool, falls: Bool = false) {
        wire = nil
        feed(falls ? .fallsBack : .finishes(hasFailed: hasFailed, isRecorded: chance(2)))
    }

    /// What people who decide, read and suspend do in the end.
    mutating func settle() {
        for _ in 0..<100 where endCount == 0 {
            feed(.start)
            feed(.resume)
            feed(.room)
            feed(.passes)
            while work() {}
        }
    }
}

@Suite("Attempt state under random events")
struct AttemptWorldTests {
    @Test("it ends exactly once, never stands still for good, and its transfer always does what the state says")
    func worlds() {
        let seed = UInt64.random(in: 0 ... .max)
        for number in 0..<20_000 {
            var world = World(seed: seed &+ UInt64(number))
            for _ in 0..<60 {
                if world.random.next() % 3 == 0 { world.meddle() } else { _ = world.work() }
                world.check()
            }
            world.settle()
            guard world.fault == nil, world.endCount == 1 else {
                Issue.record(
                    "seed \(seed) + \(number): \(world.fault ?? "ended \(world.endCount) times"), \(world.state)")
                return
            }
        }
    }
}
