// The circuit breaker of a failing server, as a pure state machine.

import FireweedTransport

/// Counts the failures of one server, and decides when messages are sent to that server.
///
/// Pure: every event carries the time, in nanoseconds of a monotonic clock; times from two threads may arrive out of
/// order. A closed circuit sends everything, until failures open the circuit. An open circuit sends nothing for a
/// pause; then a few probes are sent. When all probes succeed, the circuit closes; when one fails, the next pause is
/// twice as long.
package struct CircuitState: Sendable, Equatable {
    /// The rules by which a circuit opens and closes; times are in nanoseconds.
    package struct Rule: Sendable, Equatable {
        /// The condition that opens a closed circuit.
        package enum Trip: Sendable, Equatable {
            /// This many failures without a success between them.
            ///
            /// A failure does not count if its message was sent before the last counted failure: both have the same
            /// cause. Any success closes the circuit, whenever its message was sent.
            case failuresInARow(Int)
            /// At least this share of the outcomes in a rolling window are failures; the window needs `minimumCount`
            /// outcomes.
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
        /// Messages are sent; the record holds the outcomes that the rule needs.
        case closed(Record)
        /// No message is sent before `until`.
        case open(until: UInt64, pause: UInt64, since: UInt64)
        /// A few messages probe whether the server has recovered.
        case probing(Probes)
    }

    /// The outcomes since a circuit was closed.
    package enum Record: Sendable, Equatable {
        /// The number of failures since the last success, and the time of the last failure.
        case row(failures: Int, last: UInt64)
        /// The outcomes of messages that were admitted at `since` or later.
        case window(OutcomeWindow, since: UInt64)
    }

    package struct Probes: Sendable, Equatable {
        let pause: UInt64
        let since: UInt64
        /// Messages that are admitted at this time or later are probes.
        var begun: UInt64
        /// When the present round of probes began; probes of earlier rounds may still be in flight.
        var renewed: UInt64
        var admitted = 1
        var succeeded = 0
    }

    package enum Admission: Sendable, Equatable {
        case send
        /// Nothing is sent for this many nanoseconds.
        case refuse(nanoseconds: UInt64)
    }

    package enum Change: Sendable, Equatable {
        /// The circuit opened, for this many nanoseconds.
        case opened(nanoseconds: UInt64)
        /// The circuit closed, this many nanoseconds after it first opened.
        case closed(nanoseconds: UInt64)
    }

    package let rule: Rule
    package private(set) var stage: Stage

    /// Makes a closed circuit.
    package init(_ rule: Rule) {
        self.rule = rule
        stage = .closed(Self.record(of: rule, since: 0))
    }

    /// Decides whether a message may be sent; each admitted message must end in `succeeded`, `failed` or `abandoned`,
    /// even if the message was not sent.
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
            // Without a new round, a probe that never ends would keep the circuit open for ever. Slow probes of the
            // earlier rounds still count when they end, since `begun` stays.
            (probes.renewed, probes.admitted) = (now, 1)
            stage = .probing(probes)
            return .send
        case .probing(let probes): return .refuse(nanoseconds: probes.pause)
        }
    }

    /// Notes the success of a message that was admitted at `start`; `nil`, for an unknown time, means `now`.
    package mutating func succeeded(at now: UInt64, since start: UInt64? = nil) -> Change? {
        if case .failuresInARow = rule.trip { return close(at: now) }
        switch stage {
        case .closed(let record):
            stage = .closed(Self.noting(record, isFailure: false, at: now, since: start ?? now))
            return nil
        case .open: return nil  // admitted before the circuit opened
        case .probing(let probes) where start ?? now < probes.begun: return nil
        case .probing(var probes):
            probes.succeeded += 1
            guard probes.succeeded < rule.probeCount else { return close(at: now) }
            stage = .probing(probes)
            return nil
        }
    }

    /// Notes a failure that the server is responsible for.
    ///
    /// - Parameters:
    ///   - now: the present moment.
    ///   - start: when the message was admitted, which shows whether the message is a probe.
    ///   - sent: when the message was sent: a failure with a time before the last counted failure does not count.
    ///     `nil`, the default, means `start`. A message that is not sent, since the reply to another message is
    ///     overdue, counts as sent one time-out ago.
    ///   - requested: the pause that the server asked for; the circuit's pause is at least as long, up to the rule's
    ///     longest pause.
    /// - Returns: `.opened` if the circuit opens; `nil` otherwise.
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
        case .open: return nil  // admitted before the circuit opened
        case .probing(let probes) where start < probes.begun: return nil  // admitted before the pause
        case .probing(let probes):
            let doubled = probes.pause.addingSaturating(probes.pause)
            return open(at: now, for: max(doubled, requested), since: probes.since)
        }
    }

    /// Notes that a message that was admitted at `start` ended without an outcome; if the message is a probe, another
    /// probe may be sent instead.
    package mutating func abandoned(since start: UInt64) {
        guard case .probing(var probes) = stage, start >= probes.begun else { return }
        probes.admitted = max(0, probes.admitted - 1)
        stage = .probing(probes)
    }

    /// Whether the circuit is closed and has no outcomes that count, or is open and its pause ended longer than
    /// `longestPause` ago.
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
        case .window(_, let since) where start < since: return record  // admitted before the circuit last closed
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
    /// Returns the nanoseconds since another moment; zero if that moment is later.
    fileprivate func time(since other: UInt64) -> UInt64 { self - Swift.min(self, other) }
}
