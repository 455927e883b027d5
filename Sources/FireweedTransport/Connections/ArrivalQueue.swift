// The exchanges that are about to enter the queues of their origins.

/// A queue that returns repeated exchanges first, the oldest first, and then the others in the order of arrival.
///
/// Removal copies no waiting exchanges, since a turn of the loop may end between two removals. Repeated exchanges are
/// sorted once, at the first removal after they were added.
struct ArrivalQueue {
    private var others = ElementQueue<Exchange>()
    /// Repeated exchanges, the oldest last; unsorted if `isSorted` is false.
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
            // A lost connection returns its exchanges in any order.
            returning.sort { $0.number ?? 0 > $1.number ?? 0 }
            isSorted = true
        }
        return returning.removeLast()
    }
}
