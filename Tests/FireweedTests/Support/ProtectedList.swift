// A list that several threads may add to.

import Synchronization

/// Elements in the order in which they were added.
final class ProtectedList<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    func append(_ element: Element) { elements.withLock { $0.append(element) } }
    var all: [Element] { elements.withLock { $0 } }
}
