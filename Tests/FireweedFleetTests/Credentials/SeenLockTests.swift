// Locks that others have, or may have.

import Testing

@testable import Fireweed

@Suite("A lock that a refresh waits for")
struct SeenLockTests {
    private let start = ContinuousClock.now
    private let free: CredentialLook = {
        var look = CredentialLook(entry: nil, hasLock: false)
        look.isLockLost = true
        return look
    }()

    private func lock(_ recovery: Duration? = .milliseconds(300)) -> SeenLock {
        SeenLock(lease: .seconds(10), recovery: recovery)
    }

    private func held(_ left: Duration?) -> CredentialLook {
        var look = CredentialLook(entry: nil, hasLock: false)
        look.lockLeft = left
        return look
    }

    @Test("a lock that was seen is not taken when it is gone, until its lease would have ended")
    func seen() {
        var lock = lock()
        let reports = [
            lock.note(held(.seconds(7)), version: 3, at: start),
            lock.note(held(.seconds(8)), version: 3, at: start + .seconds(1)),
        ]
        #expect(reports == [true, false])
        #expect(lock.known(version: 3, at: start + .seconds(8)).isHeld)
        _ = lock.note(free, version: 3, at: start + .seconds(8))
        #expect(!lock.known(version: 3, at: start + .seconds(9)).isHeld)
    }

    @Test(
        "a store that has not what was there is waited for once: for a lease, and for a moment where nothing is known",
        arguments: [(3, 10_000), (0, 300)])
    func lost(version: Int, milliseconds: Int) {
        var lock = lock()
        #expect(lock.known(version: version, at: start) == KnownLock(version: max(1, version)))
        _ = lock.note(free, version: version, at: start)
        let end = start + .milliseconds(milliseconds)
        #expect(lock.known(version: version, at: end - .milliseconds(1)) == KnownLock(isHeld: true))
        #expect(lock.known(version: version, at: end) == KnownLock(hasEnded: true))
    }

    @Test("an owner whose store was away has a lease more")
    func away() {
        var lock = lock()
        _ = lock.note(held(.seconds(10)), version: 3, at: start)
        lock.noteFailure()
        let back = start + .seconds(60)
        #expect(lock.known(version: 3, at: back).isHeld)
        _ = lock.note(free, version: 3, at: back)
        #expect(lock.known(version: 3, at: back + .seconds(9)).isHeld)
        #expect(!lock.known(version: 3, at: back + .seconds(10)).isHeld)
    }

    @Test("a lock that is there after an outage is not taken before a lease has gone by", arguments: [true, false])
    func awayAndHeld(isSeenBefore: Bool) {
        var lock = lock()
        if isSeenBefore { _ = lock.note(held(.seconds(10)), version: 3, at: start) }
        lock.noteFailure()
        let back = start + .seconds(8)
        for second in 0..<2 {
            let now = back + .seconds(second)
            _ = lock.note(held(.seconds(2 - second)), version: 3, at: now)
        }
        #expect(lock.known(version: 3, at: back + .milliseconds(9999)) == KnownLock(isHeld: true, version: 3))
        #expect(lock.known(version: 3, at: back + .seconds(10)) == KnownLock(hasEnded: true, version: 3))
    }

    @Test("a doubt during which the store is away begins anew")
    func doubtAway() {
        var lock = lock()
        var look = free
        (look.run, look.lockLeft) = ("a", .seconds(6))
        _ = lock.note(look, version: 3, at: start)
        lock.noteFailure()
        #expect(lock.known(version: 3, at: start + .seconds(16)).isHeld)
        _ = lock.note(free, version: 3, at: start + .seconds(16))
        #expect(lock.known(version: 3, at: start + .seconds(25)).isHeld)
        #expect(!lock.known(version: 3, at: start + .seconds(26)).isHeld)
    }

    @Test("a lease that ended unseen is waited for as long as the store says, and again after another outage")
    func ended() {
        var lock = lock()
        lock.noteFailure()
        #expect(lock.known(version: 0, at: start) == KnownLock(version: 1))
        var look = free
        look.lockLeft = .seconds(10)
        for begin in [start, start + .seconds(30)] {
            _ = lock.note(look, version: 0, at: begin)
            #expect(lock.known(version: 0, at: begin + .seconds(9)) == KnownLock(isHeld: true))
            #expect(lock.known(version: 0, at: begin + .seconds(10)) == KnownLock(hasEnded: true))
            lock.noteFailure()
            #expect(!lock.known(version: 0, at: begin + .seconds(20)).hasEnded)
        }
    }

    @Test("another run of a store is waited for as long as the store says, each run once")
    func run() {
        var lock = lock()
        var look = free
        for (index, run) in ["a", "b"].enumerated() {
            let begin = start + .seconds(100 * index)
            (look.run, look.lockLeft) = (run, .seconds(4))
            _ = lock.note(look, version: 3, at: begin)
            look.lockLeft = .seconds(10)
            _ = lock.note(look, version: 3, at: begin + .seconds(3))
            #expect(lock.known(version: 3, at: begin + .seconds(3)) == KnownLock(isHeld: true, version: 3))
            #expect(lock.known(version: 3, at: begin + .seconds(4)) == KnownLock(hasEnded: true, version: 3, run: run))
        }
    }

    @Test("a store that loses nothing gives every lock that is free")
    func lossless() {
        var lock = lock(nil)
        _ = lock.note(held(nil), version: 3, at: start)
        lock.noteFailure()
        #expect(lock.known(version: 3, at: start) == KnownLock())
        #expect(lock.end == start + .seconds(10))
    }
}
