// A queue of exchanges that wait for a connection.

/// A queue of exchanges that remembers where to search for the first exchange without a dialer.
struct ExchangeLine {
    private var queue = WaitingQueue<Exchange>()
    /// Every exchange with a lower number has a dialer.
    private var firstUndialed = 0

    var count: Int { queue.count }
    var first: Exchange? { queue.first }
    var last: Exchange? { queue.last }

    /// Adds an exchange at the place that its number gives.
    mutating func enter(_ exchange: Exchange, number: Int) {
        queue.enter(exchange, number: number)
        noteUndialed(number)
    }

    /// Removes the exchange at a place.
    mutating func leave(_ place: Int) {
        queue.leave(place)
    }

    /// Removes and returns the first exchange.
    mutating func next() -> Exchange? { queue.next() }

    /// Removes and returns the last exchange.
    mutating func removeLast() -> Exchange? { queue.removeLast() }

    /// Returns the first exchange without a dialer; the exchange stays in the queue.
    mutating func nextUndialed() -> Exchange? {
        let next = queue.first(from: firstUndialed) { $0.entry.dialer == nil }
        firstUndialed = next?.entry.place ?? .max
        return next
    }

    /// Notes that the exchange at a place, if there is one, has no dialer.
    mutating func noteUndialed(_ place: Int) {
        firstUndialed = min(firstUndialed, place)
    }
}
