// The exchanges that are about to enter the queues of their origins.

/// A queue that gives out exchanges that are sent again first, the oldest of these first, then the others as they came.
///
/// Each step takes constant time, whatever number waits: a turn of the loop may end in the middle.
struct ArrivalQueue {
    /// Exchanges that are sent again, the oldest last; in order unless `isSorted` is false.
    private var returning: [Exchange] = []
    private var isSorted = true
    private var others: [Exchange?] = []
    /// The index of the first of the others that has not been given out.
    private var head = 0

    var count: Int { returning.count + others.count - head }

    mutating func append(_ exchange: Exchange) {
        guard exchange.isRepeated else { return others.append(exchange) }
        returning.append(exchange)
        isSorted = false
    }

    mutating func next() -> Exchange? {
        if !isSorted {
            // A connection that is lost drops its exchanges in any order.
            returning.sort { $0.number ?? 0 > $1.number ?? 0 }
            isSorted = true
        }
        if let exchange = returning.popLast() { return exchange }
        guard head < others.count else { return nil }
        let exchange = others[head].take()
        head += 1
        if head == others.count {
            // The array's memory is used again.
            others.removeAll(keepingCapacity: true)
            head = 0
        }
        return exchange
    }
}
