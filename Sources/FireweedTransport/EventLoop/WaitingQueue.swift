// First come, first served.

/// A line in the order of its members' numbers, in which places can be given up.
///
/// Entering behind all others, being served and entering in front of all others, into the room of a served place, take
/// constant time; leaving takes the logarithm of the length.
struct WaitingQueue<Member> {
    private struct Place {
        let number: Int
        /// `nil` where the place was given up.
        var member: Member?
    }

    /// The places from the first one on, by their numbers.
    private var places: [Place] = []
    /// What stands before it has been served.
    private var head = 0
    /// The highest number until now.
    private var lastNumber = 0
    /// How many wait.
    private(set) var count = 0

    /// After so many served places their room is used again.
    private static var compactionLimit: Int { 256 }

    /// Lets a member wait behind all others; returns the number of its place.
    mutating func enter(_ member: Member) -> Int {
        enter(member, number: lastNumber + 1)
        return lastNumber
    }

    /// Lets a member wait behind those with lower numbers and in front of those with higher ones.
    ///
    /// No two members may wait with the same number.
    mutating func enter(_ member: Member, number: Int) {
        count += 1
        lastNumber = max(lastNumber, number)
        let place = Place(number: number, member: member)
        let index = index(of: number)
        if index < places.count, places[index].number == number {
            precondition(places[index].member == nil, "two members have one number")
            places[index] = place
        } else if index == head, head > 0 {
            head -= 1
            places[head] = place
        } else {
            places.insert(place, at: index)
        }
    }

    /// Gives a place up.
    mutating func leave(_ number: Int) {
        let index = index(of: number)
        guard index < places.count, places[index].number == number, places[index].member != nil else { return }
        places[index].member = nil
        count -= 1
    }

    /// Takes the first member out; `nil` when the line is empty.
    mutating func next() -> Member? {
        while head < places.count {
            let member = places[head].member.take()
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
        for place in places[head...] {
            if let member = place.member, isWanted(member) { return member }
        }
        return nil
    }

    /// Where the place with a number is, or would be.
    private func index(of number: Int) -> Int {
        var (low, high) = (head, places.count)
        if let last = places.last, last.number < number { return high }
        while low < high {
            let middle = (low + high) / 2
            if places[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private mutating func compact() {
        guard head == places.count || head >= Self.compactionLimit else { return }
        places.removeFirst(head)
        head = 0
    }
}
