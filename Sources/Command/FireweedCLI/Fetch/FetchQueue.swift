// The order of requests; pure.

/// The items that were read and are not finished, and the order in which they run.
///
/// The oldest item whose origin has room is next, so that one slow origin does not hold the others back. However long
/// the list is, only few items wait.
struct FetchQueue {
    /// The maximum number of running items, in total and for each origin.
    let limit: Int
    let originLimit: Int
    /// The maximum number of waiting items.
    private let waitingLimit: Int
    /// A slice, since items are removed from its beginning.
    private var waiting: ArraySlice<FetchItem> = []
    private var running: [String: Int] = [:]
    private(set) var runningCount = 0

    init(limit: Int, originLimit: Int, waitingLimit: Int? = nil) {
        (self.limit, self.originLimit) = (limit, originLimit)
        self.waitingLimit = waitingLimit ?? max(256, 4 * limit)
    }

    var isEmpty: Bool { waiting.isEmpty && runningCount == 0 }

    /// The number of further items that may be read.
    var room: Int { max(0, waitingLimit - waiting.count) }

    mutating func append(_ item: FetchItem) { waiting.append(item) }

    /// Removes and returns the next item that may run now; `nil` when none may.
    mutating func next() -> FetchItem? {
        guard runningCount < limit else { return nil }
        let index = waiting.firstIndex { item in item.origin.map { running[$0, default: 0] < originLimit } ?? true }
        guard let index else { return nil }
        let item = index == waiting.startIndex ? waiting.removeFirst() : waiting.remove(at: index)
        runningCount += 1
        if let origin = item.origin { running[origin, default: 0] += 1 }
        return item
    }

    /// Frees the place of an item that has run.
    mutating func finish(_ item: FetchItem) {
        runningCount -= 1
        guard let origin = item.origin, let count = running[origin] else { return }
        running[origin] = count > 1 ? count - 1 : nil
    }
}

extension FetchItem {
    /// The origin of the request; `nil` for a line that is not a valid request.
    var origin: String? { try? request.get().origin }
}
