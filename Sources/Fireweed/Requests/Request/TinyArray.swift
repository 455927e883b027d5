// A list that usually has one element.

/// A list that stores its first element inline: with at most one element it needs no heap memory.
///
/// A request usually has one handler, one `URLRequest` and one attempt.
struct TinyArray<Element> {
    private var head: Element?
    private var tail: [Element] = []

    init() {}
}

extension TinyArray: Sendable where Element: Sendable {}

extension TinyArray: RandomAccessCollection, RangeReplaceableCollection {
    var startIndex: Int { 0 }

    var endIndex: Int { head == nil ? 0 : 1 + tail.count }

    subscript(index: Int) -> Element {
        guard index == 0, let head else { return tail[index - 1] }
        return head
    }

    mutating func append(_ element: Element) {
        if head == nil { head = element } else { tail.append(element) }
    }

    mutating func replaceSubrange<Elements: Collection>(_ range: Range<Int>, with elements: Elements)
    where Elements.Element == Element {
        var all = Array(self)
        all.replaceSubrange(range, with: elements)
        head = all.first
        tail = Array(all.dropFirst())
    }
}
