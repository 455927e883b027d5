// A heap of deadlines, the earliest first.

/// An object with a deadline, in at most one heap.
///
/// Used on a loop's thread.
class DeadlineEntry {
    /// The index in the heap; -1 outside of it.
    fileprivate var heapIndex = -1

    /// Called when the deadline has passed; the heap has already removed the object.
    func timeReached(at now: LoopInstant) {}
}

/// A binary heap of deadlines: setting, changing and removing a deadline takes logarithmic time.
///
/// An entry whose deadline moves often (a transfer with an idle time-out) need not change the heap each time: when it
/// is called too early, it sets its current deadline again.
final class DeadlineHeap {
    // SAFETY: `nodes` is used only on the loop's thread, and calls nothing outside of this file. Debug builds, in which
    // the tests run, check the exclusive access.
    #if !DEBUG
    @exclusivity(unchecked)
    #endif
    private var nodes = Nodes()

    /// The earliest moment.
    var first: LoopInstant? { nodes.first?.moment }

    /// The number of objects.
    var count: Int { nodes.count }

    /// Sets the deadline of an object; `nil` for none.
    func set(_ object: DeadlineEntry, to moment: LoopInstant?) {
        guard let moment else { return remove(object) }
        nodes.set(object, to: moment)
    }

    /// Sets the deadline of an object, unless it has an earlier one.
    func lower(_ object: DeadlineEntry, to moment: LoopInstant) {
        guard object.heapIndex < 0 || moment < nodes.moment(of: object) else { return }
        set(object, to: moment)
    }

    /// Removes an object.
    func remove(_ object: DeadlineEntry) {
        if object.heapIndex >= 0 { nodes.remove(object) }
    }

    /// Removes the objects whose moment has come, and calls them, the earliest first.
    ///
    /// Calls up to `TurnBudget.eventCount` objects in any case, and more while the turn has time; the others are called
    /// in the next turn.
    func callDue(in context: LoopContext) {
        var count = 0
        while let next = nodes.first, next.moment <= context.now, context.turn.allows(count) {
            remove(next.object)
            context.watched(next.object) { next.object.timeReached(at: context.now) }
            context.turn.noteCost(TurnBudget.callCost)
            count += 1
        }
    }
}

/// The nodes of a heap, in the heap's order.
///
/// A struct: exclusive access is checked once, for the variable that holds it, and not for each member.
private struct Nodes {
    private struct Node {
        var moment: LoopInstant
        var object: DeadlineEntry
    }

    private var nodes: [Node] = []

    var count: Int { nodes.count }
    var first: (moment: LoopInstant, object: DeadlineEntry)? { nodes.first.map { ($0.moment, $0.object) } }

    func moment(of object: DeadlineEntry) -> LoopInstant { nodes[object.heapIndex].moment }

    mutating func set(_ object: DeadlineEntry, to moment: LoopInstant) {
        let index = object.heapIndex
        guard index >= 0 else {
            object.heapIndex = nodes.count
            nodes.append(Node(moment: moment, object: object))
            return siftUp(nodes.count - 1)
        }
        let isEarlier = moment < nodes[index].moment
        nodes[index].moment = moment
        if isEarlier { siftUp(index) } else { siftDown(index) }
    }

    mutating func remove(_ object: DeadlineEntry) {
        let index = object.heapIndex
        object.heapIndex = -1
        let last = nodes.removeLast()
        guard index < nodes.count else { return }
        last.object.heapIndex = index
        nodes[index] = last
        siftUp(index)
        siftDown(last.object.heapIndex)
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard nodes[index].moment < nodes[parent].moment else { return }
            exchange(index, parent)
            index = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        while true {
            let left = 2 * index + 1
            guard left < nodes.count else { return }
            let right = left + 1
            let child = right < nodes.count && nodes[right].moment < nodes[left].moment ? right : left
            guard nodes[child].moment < nodes[index].moment else { return }
            exchange(index, child)
            index = child
        }
    }

    private mutating func exchange(_ left: Int, _ right: Int) {
        nodes.swapAt(left, right)
        nodes[left].object.heapIndex = left
        nodes[right].object.heapIndex = right
    }
}
