// The queue of exchanges that send files.

/// A queue of exchanges whose files are not open.
///
/// A file is opened shortly before its exchange can get a connection, so an origin has only a few more open files than
/// running exchanges. An exchange is *ahead* from the opening of its file until it gets a connection; during this time,
/// exchanges with other content may overtake it.
struct FileLine {
    private var line = WaitingQueue<Exchange>()
    /// The number of exchanges that are ahead.
    private(set) var aheadCount = 0

    /// Adds an exchange at the place that its number gives.
    mutating func enter(_ exchange: Exchange, number: Int) {
        endAhead(exchange)
        line.enter(exchange, number: number)
    }

    /// Removes the exchange at a place.
    mutating func leave(_ place: Int) {
        line.leave(place)
    }

    /// Removes the first exchange and counts it as ahead; `nil` if no exchange waits, or `Descriptors.aheadLimit` are
    /// ahead.
    mutating func next() -> Exchange? {
        guard line.count > 0, aheadCount < Descriptors.aheadLimit, let exchange = line.next() else { return nil }
        exchange.entry.isAhead = true
        aheadCount += 1
        return exchange
    }

    /// Counts an exchange as no longer ahead: it has a connection, or no longer waits for one.
    mutating func endAhead(_ exchange: Exchange) {
        guard exchange.entry.isAhead else { return }
        exchange.entry.isAhead = false
        aheadCount -= 1
    }
}
