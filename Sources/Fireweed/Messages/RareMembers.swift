// The members that most instances of a value lack.

/// Members of a value behind one reference, which is `nil` while all of them have their usual values.
///
/// A message is copied often on its way: each member that is a reference costs a reference count at every copy.
struct RareMembers<Members: Sendable>: Sendable {
    private var box: Box?

    /// Stores the members once for all copies of a value, until one of the copies changes.
    private final class Box: @unchecked Sendable {
        // SAFETY: changed only while one value alone refers to the box.
        var members: Members

        init(_ members: Members) {
            self.members = members
        }
    }

    init() {}

    /// Returns what `read` finds in the members; `nil` while they have their usual values.
    func read<Value>(_ read: (borrowing Members) -> Value) -> Value? {
        guard let box else { return nil }
        return read(box.members)
    }

    /// Changes the members, which are `usual` before the first change; a change to the usual value needs no memory.
    mutating func change(
        isUsual: Bool, from usual: @autoclosure () -> Members, _ change: (inout Members) -> Void
    ) {
        if box == nil {
            guard !isUsual else { return }
            box = Box(usual())
        } else if !isKnownUniquelyReferenced(&box), let shared = box {
            box = Box(shared.members)
        }
        if let box { change(&box.members) }
    }
}
