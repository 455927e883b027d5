// The queue of exchanges that wait for a connection, with regard to their deadlines.

/// A queue of exchanges that prefers exchanges that can still meet their deadline.
///
/// `oldestFirst` serves the places in order. When the next place belongs to an exchange with a deadline, the first such
/// exchange with a good outlook is served, otherwise the first doubtful one. An exchange that overtakes a doubtful
/// exchange trades places with it: each place is used once, so no exchange without a deadline is overtaken.
/// `newestFirst` serves the newest exchange, good or doubtful.
///
/// In both orders, a hopeless exchange that had to wait is returned to be failed: its response would come too late, and
/// could make another exchange late. Exchanges without a deadline are never refused.
struct DeadlineLine {
    /// The decision about the next exchange.
    enum Turn {
        case serve(Exchange)
        /// Fail the exchange: `remaining` nanoseconds are left, and quick responses take `needed`.
        case refuse(Exchange, remaining: UInt64, needed: UInt64)
    }

    /// Exchanges without a deadline.
    private var open = ExchangeLine()
    /// Exchanges with a deadline.
    private var limited = ExchangeLine()
    /// Exchanges with a deadline that were doubtful when their turn came.
    private var doubtful = ExchangeLine()
    private let order: TransportOptions.WaitingOrder
    private let regardsDeadlines: Bool

    init(_ options: TransportOptions) {
        order = options.waitingOrder
        regardsDeadlines = options.refusesUnreachableDeadlines
    }

    /// The farthest deadline that has an effect, in nanoseconds from now; an exchange with a later one, such as the
    /// default of a week, is treated as one without a deadline.
    private static let farthestDeadline: LoopInstant = 3_600_000_000_000

    var count: Int { open.count + limited.count + doubtful.count }

    /// Adds an exchange at the place that its number gives.
    mutating func enter(_ exchange: Exchange, number: Int, at now: LoopInstant) {
        if regardsDeadlines, let deadline = exchange.lineDeadline, deadline < now &+ Self.farthestDeadline {
            limited.enter(exchange, number: number)
        } else {
            open.enter(exchange, number: number)
        }
    }

    /// Removes the exchange at a place.
    mutating func leave(_ place: Int) {
        open.leave(place)
        guard limited.count + doubtful.count > 0 else { return }
        limited.leave(place)
        doubtful.leave(place)
    }

    /// Removes the next exchange and returns the decision about it; `nil` if no exchange waits.
    ///
    /// `turn` is the number of the loop's turn: an exchange that came in the same turn has not waited, and is not
    /// refused.
    mutating func next(at now: LoopInstant, turn: UInt64, _ latencies: inout LatencyWindow) -> Turn? {
        if order == .oldestFirst, limited.count + doubtful.count == 0 { return open.next().map { .serve($0) } }
        let outlook = DeadlineOutlook(&latencies, at: now)
        return order == .oldestFirst ? nextOldest(now, turn, outlook) : nextNewest(now, turn, outlook)
    }

    private mutating func nextOldest(_ now: LoopInstant, _ turn: UInt64, _ outlook: DeadlineOutlook?) -> Turn? {
        let place = min(limited.first?.entry.place ?? .max, doubtful.first?.entry.place ?? .max)
        if let first = open.first?.entry.place, first < place { return open.next().map { .serve($0) } }
        while let exchange = limited.next() {
            let decision = Self.decide(exchange, now, turn, outlook)
            guard decision.verdict == .doubtful, let place = exchange.entry.place else {
                if case .serve = decision.turn { trade(with: exchange) }
                return decision.turn
            }
            doubtful.enter(exchange, number: place)
        }
        return doubtful.next().map { Self.decide($0, now, turn, outlook).turn }
    }

    /// Trades the places of a served exchange and the first doubtful exchange, if the served exchange overtakes the
    /// doubtful one.
    ///
    /// The exchanges trade their numbers too: an exchange that is sent again returns to the place at which it was
    /// served.
    private mutating func trade(with exchange: Exchange) {
        guard let place = exchange.entry.place, let first = doubtful.first?.entry.place, first < place,
            let overtaken = doubtful.next()
        else { return }
        (exchange.entry.number, exchange.entry.place) = (first, first)
        (overtaken.entry.number, overtaken.entry.place) = (place, place)
        doubtful.enter(overtaken, number: place)
    }

    private mutating func nextNewest(_ now: LoopInstant, _ turn: UInt64, _ outlook: DeadlineOutlook?) -> Turn? {
        removeNewest().map { Self.decide($0, now, turn, outlook).turn }
    }

    private static func decide(
        _ exchange: Exchange, _ now: LoopInstant, _ turn: UInt64, _ outlook: DeadlineOutlook?
    ) -> (verdict: DeadlineOutlook.Verdict, turn: Turn) {
        guard let outlook, let deadline = exchange.lineDeadline, exchange.entry.turn < turn else {
            return (.good, .serve(exchange))
        }
        let remaining = deadline - min(now, deadline)
        let verdict = outlook.verdict(remaining: remaining)
        guard verdict == .hopeless else { return (verdict, .serve(exchange)) }
        return (verdict, .refuse(exchange, remaining: remaining, needed: outlook.needed))
    }

    /// Removes the exchange that would be served last; `nil` when none waits.
    mutating func removeLast() -> Exchange? {
        order == .oldestFirst ? removeNewest() : removeOldest()
    }

    private mutating func removeNewest() -> Exchange? {
        let (openPlace, limitedPlace) = (open.last?.entry.place ?? -1, limited.last?.entry.place ?? -1)
        let doubtfulPlace = doubtful.last?.entry.place ?? -1
        if openPlace > max(limitedPlace, doubtfulPlace) { return open.removeLast() }
        return limitedPlace > doubtfulPlace ? limited.removeLast() : doubtful.removeLast()
    }

    private mutating func removeOldest() -> Exchange? {
        let (openPlace, limitedPlace) = (open.first?.entry.place ?? .max, limited.first?.entry.place ?? .max)
        let doubtfulPlace = doubtful.first?.entry.place ?? .max
        if openPlace < min(limitedPlace, doubtfulPlace) { return open.next() }
        return limitedPlace < doubtfulPlace ? limited.next() : doubtful.next()
    }

    // MARK: Dialers

    /// Returns the first exchange without a dialer; the exchange stays in the queue.
    mutating func nextUndialed() -> Exchange? {
        guard limited.count + doubtful.count > 0 else { return open.nextUndialed() }
        let candidates = [open.nextUndialed(), limited.nextUndialed(), doubtful.nextUndialed()]
        return candidates.lazy.compactMap(\.self).min { $0.entry.place ?? .max < $1.entry.place ?? .max }
    }

    /// Notes that the exchange at a place, if there is one, has no dialer.
    mutating func noteUndialed(_ place: Int) {
        open.noteUndialed(place)
        limited.noteUndialed(place)
        doubtful.noteUndialed(place)
    }
}

extension Exchange {
    /// The request's or the transfer's deadline, whichever is earlier; `nil` for none.
    var lineDeadline: LoopInstant? {
        guard let request = message.requestDeadlineNanoseconds else { return message.deadlineNanoseconds }
        return min(request, message.deadlineNanoseconds ?? .max)
    }
}
