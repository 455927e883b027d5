// First come, first served.

/// A line in which places can be given up: entering, leaving and being served take constant time.
struct WaitingQueue<Member> {
    /// The members from the first one on; `nil` where a place was given up.
    private var places: [Member?] = []
    /// What stands before it has been served.
    private var head = 0
    /// The number of the place at index 0.
    private var base = 0
    /// How many wait.
    private(set) var count = 0

    /// After so many served places their room is used again.
    private static var compactionLimit: Int { 256 }

    /// Lets a member wait behind all others; returns the number of its place.
    mutating func enter(_ member: Member) -> Int {
        places.append(member)
        count += 1
        return base + places.count - 1
    }

    /// Lets a member that has waited before wait in front of all others; returns the number of its place.
    mutating func enterFirst(_ member: Member) -> Int {
        count += 1
        if head > 0 {
            head -= 1
            places[head] = member
        } else {
            places.insert(member, at: 0)
            base -= 1
        }
        return base + head
    }

    /// Gives a place up.
    mutating func leave(_ number: Int) {
        let index = number - base
        guard index >= head, index < places.count, places[index] != nil else { return }
        places[index] = nil
        count -= 1
    }

    /// Takes the first member out; `nil` when the line is empty.
    mutating func next() -> Member? {
        while head < places.count {
            let member = places[head]
            places[head] = nil
            head += 1
            compact()
            guard let member else { continue }
            count -= 1
            return member
        }
        return nil
    }

    /// The first member; it stays in the line.
    var first: Member? { count > 0 ? first { _ in true } : nil }

    /// The first member for which `isWanted` is true; it stays in the line.
    func first(where isWanted: (Member) -> Bool) -> Member? {
        for case let member? in places[head...] where isWanted(member) { return member }
        return nil
    }

    private mutating func compact() {
        guard head == places.count || head >= Self.compactionLimit else { return }
        places.removeFirst(head)
        base += head
        head = 0
    }
}
