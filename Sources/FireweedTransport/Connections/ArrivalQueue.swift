// The exchanges that are about to enter the queues of their origins.

/// A queue that first returns the exchanges that are sent again, the oldest first, then the others as they arrived.
///
/// A turn of the loop may end after each removal, so a removal does not copy the remaining exchanges. The exchanges
/// that are sent again are sorted at the first removal after an addition.
struct ArrivalQueue {
    private var others = ElementQueue<Exchange>()
    /// Exchanges that are sent again, the oldest last; unsorted if `isSorted` is false.
    private var returning: [Exchange] = []
    private var isSorted = true

    var count: Int { returning.count + others.count }

    mutating func append(_ exchange: Exchange) {
        guard exchange.tries.isRepeated else { return others.append(exchange) }
        returning.append(exchange)
        isSorted = false
    }

    mutating func next() -> Exchange? {
        guard !returning.isEmpty else { return others.popFirst() }
        if !isSorted {
            // After the loss of a connection, exchanges are appended in any order.
            returning.sort { $0.entry.number ?? 0 > $1.entry.number ?? 0 }
            isSorted = true
        }
        return returning.removeLast()
    }
}
