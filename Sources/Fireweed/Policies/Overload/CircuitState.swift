// The circuit breaker of a failing server, as a table.

import FireweedTransport

/// Counts the failures of one server, and says when messages are sent to it.
///
/// Pure: every event brings the time, in nanoseconds of a clock that never goes back. The moments of two threads may
/// come in the other order. A closed circuit sends
/// everything, until failures open it. An open one sends nothing for a pause; then a few probes are sent. When all of
/// them succeed, it is closed; when one fails, the next pause is twice as long.
package struct CircuitState: Sendable, Equatable {
    /// When a circuit opens and closes; times are in nanoseconds.
    package struct Rule: Sendable, Equatable {
        /// What opens a closed circuit.
        package enum Trip: Sendable, Equatable {
            /// So many failures without a success between them.
            ///
            /// Failures of messages that were under way when another failed have the same cause, and do not count. Any
            /// success disproves the rule, whenever its message was sent, and closes the circuit.
            case failuresInARow(Int)
            /// At least this part of the outcomes in a rolling window are failures, of so many outcomes at least.
            case ratio(Double, minimumCount: Int, window: UInt64)
        }

        package var trip: Trip
        package var firstPause: UInt64
        package var longestPause: UInt64
        /// How many probes have to succeed.
        package var probeCount: Int

        package init(trip: Trip, firstPause: UInt64, longestPause: UInt64, probeCount: Int) {
            self.trip = trip
            self.firstPause = firstPause
            self.longestPause = longestPause
            self.probeCount = probeCount
        }
    }

    package enum Stage: Sendable, Equatable {
        /// Messages are sent; the record has what the rule has to know.
        case closed(Record)
        /// No message is sent before a moment.
        case open(until: UInt64, pause: UInt64, since: UInt64)
        /// A few messages try whether the server is back.
        case probing(Probes)
    }

    /// The outcomes since a circuit was closed.
    package enum Record: Sendable, Equatable {
        /// So many failures came since the last success, the last of them at a moment.
        case row(failures: Int, last: UInt64)
        /// The outcomes of messages that were admitted from a moment on.
        case window(OutcomeWindow, since: UInt64)
    }

    package struct Probes: Sendable, Equatable {
        let pause: UInt64
        let since: UInt64
        /// A message that was admitted from then on is a probe.
        var begun: UInt64
        /// When the present round of probes began: others may not have ended.
        var renewed: UInt64
        var admitted = 1
        var succeeded = 0
    }

    package enum Admission: Sendable, Equatable {
        case send
        /// Nothing is sent for so many nanoseconds.
        case refuse(nanoseconds: UInt64)
    }

    package enum Change: Sendable, Equatable {
        /// The server is left alone from now on, for so many nanoseconds.
        case opened(nanoseconds: UInt64)
        /// The server does its work again, after so many nanoseconds.
        case closed(nanoseconds: UInt64)
    }

    package let rule: Rule
    package private(set) var stage: Stage

    /// Makes a closed circuit.
    package init(_ rule: Rule) {
        self.rule = rule
        stage = .closed(Self.record(of: rule, since: 0))
    }

    /// Whether a message may be sent; one that may has to end in `succeeded`, `failed` or `abandoned`, whether it was
    /// sent or not.
    package mutating func admit(at now: UInt64) -> Admission {
        switch stage {
        case .closed: return .send
        case .open(let until, _, _) where now < until: return .refuse(nanoseconds: until - now)
        case .open(_, let pause, let since):
            stage = .probing(Probes(pause: pause, since: since, begun: now, renewed: now))
            return .send
        case .probing(var probes) where probes.admitted < rule.probeCount:
            probes.admitted += 1
            probes.begun = min(probes.begun, now)
            stage = .probing(probes)
            return .send
        case .probing(var probes) where now.time(since: probes.renewed) >= rule.longestPause:
            // A probe that never ends must not keep the circuit open, and one that takes long counts at its end.
            (probes.renewed, probes.admitted) = (now, 1)
            stage = .probing(probes)
            return .send
        case .probing(let probes): return .refuse(nanoseconds: probes.pause)
        }
    }

    /// The server did the work of a message, which was admitted at `start`; `nil` where that is not known.
    package mutating func succeeded(at now: UInt64, since start: UInt64? = nil) -> Change? {
        if case .failuresInARow = rule.trip { return close(at: now) }
        switch stage {
        case .closed(let record):
            stage = .closed(Self.noting(record, isFailure: false, at: now, since: start ?? now))
            return nil
        case .open: return nil  // sent before the others had failed
        case .probing(let probes) where start ?? now < probes.begun: return nil
        case .probing(var probes):
            probes.succeeded += 1
            guard probes.succeeded < rule.probeCount else { return close(at: now) }
            stage = .probing(probes)
            return nil
        }
    }

    /// A message failed in a way that says that the server cannot do its work.
    ///
    /// - Parameters:
    ///   - now: the present moment.
    ///   - start: when the message was admitted, which says whether it is a probe.
    ///   - sent: when it was sent, which says whether it fails for a cause of its own; a message that was not sent,
    ///     since the answer to another is overdue, is like one that was sent a deadline ago.
    ///   - requested: the pause that the server asked for; the pause is at least as long, within the rule's longest.
    /// - Returns: that the circuit opens; `nil` when nothing changes.
    package mutating func failed(
        at now: UInt64, since start: UInt64, sentAt sent: UInt64? = nil, requestedPause requested: UInt64 = 0
    ) -> Change? {
        switch stage {
        case .closed(.row(let failures, let last)) where failures > 0 && (sent ?? start) < last: return nil
        case .closed(let record):
            let record = Self.noting(record, isFailure: true, at: now, since: start)
            stage = .closed(record)
            guard trips(record, at: now) else { return nil }
            return open(at: now, for: max(rule.firstPause, requested), since: now)
        case .open: return nil  // sent before the others had failed
        case .probing(let probes) where start < probes.begun: return nil  // admitted before the pause
        case .probing(let probes):
            let doubled = probes.pause.addingSaturating(probes.pause)
            return open(at: now, for: max(doubled, requested), since: probes.since)
        }
    }

    /// A message, which was admitted at `start`, ended without an outcome: if it is a probe, another one takes its
    /// place.
    package mutating func abandoned(since start: UInt64) {
        guard case .probing(var probes) = stage, start >= probes.begun else { return }
        probes.admitted = max(0, probes.admitted - 1)
        stage = .probing(probes)
    }

    /// Whether the circuit has no outcomes that count, or is open and has not been asked for long.
    package func isIdle(at now: UInt64) -> Bool {
        switch stage {
        case .closed(.row(let failures, _)): failures == 0
        case .closed(.window(let window, _)): window.counts(at: now).all == 0
        case .open(let until, _, _): now.time(since: until) > rule.longestPause
        case .probing: false
        }
    }

    // MARK: The rule

    private mutating func open(at now: UInt64, for pause: UInt64, since: UInt64) -> Change {
        let pause = min(pause, rule.longestPause)
        stage = .open(until: now.addingSaturating(pause), pause: pause, since: since)
        return .opened(nanoseconds: pause)
    }

    private mutating func close(at now: UInt64) -> Change? {
        defer { stage = .closed(Self.record(of: rule, since: now)) }
        switch stage {
        case .closed: return nil
        case .open(_, _, let since): return .closed(nanoseconds: now.time(since: since))
        case .probing(let probes): return .closed(nanoseconds: now.time(since: probes.since))
        }
    }

    private static func record(of rule: Rule, since now: UInt64) -> Record {
        switch rule.trip {
        case .failuresInARow: .row(failures: 0, last: 0)
        case .ratio(_, _, let window): .window(OutcomeWindow(nanoseconds: window), since: now)
        }
    }

    private static func noting(_ record: Record, isFailure: Bool, at now: UInt64, since start: UInt64) -> Record {
        switch record {
        case .row(let failures, let last):
            return isFailure ? .row(failures: failures + 1, last: now) : .row(failures: 0, last: last)
        case .window(_, let since) where start < since: return record  // sent before the circuit was open
        case .window(var window, let since):
            window.note(isFailure: isFailure, at: now)
            return .window(window, since: since)
        }
    }

    private func trips(_ record: Record, at now: UInt64) -> Bool {
        switch (rule.trip, record) {
        case (.failuresInARow(let limit), .row(let failures, _)): return failures >= limit
        case (.ratio(let ratio, let minimumCount, _), .window(let window, _)):
            let (all, failures) = window.counts(at: now)
            return all >= minimumCount && Double(failures) >= ratio * Double(all)
        case (.failuresInARow, .window), (.ratio, .row): return false
        }
    }
}

extension UInt64 {
    /// The nanoseconds since another moment; none where that one is later.
    fileprivate func time(since other: UInt64) -> UInt64 { self - Swift.min(self, other) }
}
