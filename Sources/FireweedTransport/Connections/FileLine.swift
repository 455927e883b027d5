// The exchanges of an origin that send files.

/// The line of exchanges whose files are not open.
///
/// A file is opened shortly before its exchange can have a connection: an origin has as many open files as exchanges
/// that run, and a few more. From the opening of its file until it gets a connection an exchange is *ahead*; exchanges
/// of other content pass it meanwhile.
struct FileLine {
    private var line = WaitingQueue<Exchange>()
    /// How many exchanges are ahead.
    private(set) var aheadCount = 0

    /// Lets an exchange wait.
    mutating func enter(_ exchange: Exchange, number: Int) {
        endAhead(exchange)
        line.enter(exchange, number: number)
    }

    /// Gives a place up.
    mutating func leave(_ place: Int) {
        line.leave(place)
    }

    /// Takes the first exchange out, which is ahead from now on; `nil` when enough exchanges are ahead.
    mutating func next() -> Exchange? {
        guard line.count > 0, aheadCount < Descriptors.aheadLimit, let exchange = line.next() else { return nil }
        exchange.isAhead = true
        aheadCount += 1
        return exchange
    }

    /// Notes that an exchange has got a connection, or needs none.
    mutating func endAhead(_ exchange: Exchange) {
        guard exchange.isAhead else { return }
        exchange.isAhead = false
        aheadCount -= 1
    }
}
