// The order and times of connection attempts (RFC 8305), as a state machine.

/// The race of a host's addresses, in which the address families alternate, IPv6 first.
///
/// The next attempt begins 250 ms after the last attempt began, or when an attempt fails.
///
/// The owner performs the look-up and the attempts, reports their results, and reports `timeReached` at `wakeUp`.
/// Everything is pure: the time is an argument of each event.
struct HappyEyeballs {
    /// The events that the owner reports.
    enum Event: Equatable {
        /// The look-up has ended, without addresses if it failed. Reported once.
        case answered([SocketAddress])
        /// An attempt failed.
        case attemptFailed
        /// An attempt made a connection.
        case connected
        /// The clock may have reached `wakeUp`.
        case timeReached
    }

    /// The actions that the owner performs.
    enum Action: Equatable {
        case none
        /// Begin to connect to an address.
        case attempt(SocketAddress)
        /// End all attempts except the one that made a connection.
        case finish
        /// All addresses have failed, or there are none.
        case fail
    }

    /// The phase of the race.
    private enum Phase: Equatable {
        /// The look-up has not ended.
        case resolving
        /// Attempts run; the next attempt begins at `next`, or is not planned, since no address is left.
        case racing(next: LoopInstant?)
        case over
    }

    /// The delay between the beginnings of two attempts (RFC 8305 §5: 250 ms).
    static let attemptDelay: LoopInstant = 250_000_000

    private var phase = Phase.resolving
    private var untried: [AddressFamily: ArraySlice<SocketAddress>] = [:]
    private var lastFamily = AddressFamily.ipv4
    private var runningCount = 0

    /// When the owner has to report `timeReached`; `nil` for never.
    var wakeUp: LoopInstant? {
        switch phase {
        case .racing(let next): next
        case .resolving, .over: nil
        }
    }

    /// Handles an event and returns the action for the owner.
    mutating func handle(_ event: Event, at now: LoopInstant) -> Action {
        switch (phase, event) {
        case (.over, _): return .none
        case (_, .connected):
            phase = .over
            return .finish
        case (.resolving, .answered(let addresses)):
            for family in AddressFamily.allCases { untried[family] = addresses.filter { $0.family == family }[...] }
            return hasUntried ? beginNext(at: now) : failIfExhausted()
        case (.racing, .answered): return .none
        case (.racing(let next?), .timeReached) where next <= now: return beginNext(at: now)
        case (_, .timeReached): return .none
        case (.racing, .attemptFailed):
            runningCount -= 1
            // RFC 8305 §5: after a failure, the next attempt begins without waiting.
            return hasUntried ? beginNext(at: now) : failIfExhausted()
        case (.resolving, .attemptFailed): preconditionFailure("no attempt has begun")
        }
    }

    private var hasUntried: Bool { untried.values.contains { !$0.isEmpty } }

    /// Begins an attempt with the family that the last attempt did not use, if that family has an address (RFC 8305
    /// §4).
    private mutating func beginNext(at now: LoopInstant) -> Action {
        let family = untried[lastFamily.other]?.isEmpty == false ? lastFamily.other : lastFamily
        guard let address = untried[family]?.popFirst() else { return .none }
        lastFamily = family
        runningCount += 1
        phase = .racing(next: hasUntried ? now + Self.attemptDelay : nil)
        return .attempt(address)
    }

    private mutating func failIfExhausted() -> Action {
        guard runningCount == 0 else { return .none }
        phase = .over
        return .fail
    }
}
