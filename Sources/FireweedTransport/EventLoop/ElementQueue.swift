// A first-in, first-out queue.

/// A first-in, first-out queue; adding and taking an element takes constant time, and a taken element is released.
package struct ElementQueue<Element> {
    private var storage: [Element?] = []
    private var head = 0

    /// The capacity that an empty queue keeps, in elements.
    private static var keptCapacity: Int { 256 }

    /// Makes an empty queue.
    package init() {}

    /// The number of elements.
    package var count: Int { storage.count - head }

    /// Whether the queue has no element.
    package var isEmpty: Bool { count == 0 }

    /// Adds an element after all others.
    package mutating func append(_ element: Element) {
        storage.append(element)
    }

    /// Takes the first element; `nil` when there is none.
    package mutating func popFirst() -> Element? {
        guard head < storage.count else { return nil }
        let element = storage[head]
        storage[head] = nil
        head += 1
        if head == storage.count {
            storage.removeAll(keepingCapacity: head <= Self.keptCapacity)
            head = 0
        } else if head >= 64, head * 2 >= storage.count {
            storage.removeFirst(head)  // no more elements move than have been taken
            head = 0
        }
        return element
    }

    /// Takes all elements, in their order.
    package mutating func takeAll() -> [Element] {
        defer { self = ElementQueue() }
        return storage[head...].compactMap(\.self)
    }
}
