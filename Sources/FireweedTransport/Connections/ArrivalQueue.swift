// The exchanges that are about to enter the queues of their origins.

/// A queue that gives out exchanges that are sent again first, the oldest of these first, then the others as they came.
///
/// No step copies those that wait: a turn of the loop may end in the middle. Exchanges that are sent again are sorted
/// once after they came.
struct ArrivalQueue {
    private var others = ElementQueue<Exchange>()
    /// Exchanges that are sent again, the oldest last; in order unless `isSorted` is false.
    private var returning: [Exchange] = []
    private var isSorted = true

    var count: Int { returning.count + others.count }

    mutating func append(_ exchange: Exchange) {
        guard exchange.isRepeated else { return others.append(exchange) }
        returning.append(exchange)
        isSorted = false
    }

    mutating func next() -> Exchange? {
        guard !returning.isEmpty else { return others.popFirst() }
        if !isSorted {
            // A connection that is lost drops its exchanges in any order.
            returning.sort { $0.number ?? 0 > $1.number ?? 0 }
            isSorted = true
        }
        return returning.removeLast()
    }
}
