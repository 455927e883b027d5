// A queue whose members may leave before they are served.

/// A queue in the order of its members' numbers; a member may leave before it is served.
///
/// Entering at the end, returning to the front and being served take constant time; leaving takes logarithmic time. The
/// first and the last place always have a member, so both are found without a search.
struct WaitingQueue<Member> {
    private struct Place {
        let number: Int
        /// `nil` after the member has left.
        var member: Member?
    }

    /// The places in the order of their numbers.
    private var places: [Place] = []
    /// The index of the first place that has not been served.
    private var head = 0
    /// The highest number so far.
    private var lastNumber = 0
    /// The number of waiting members.
    private(set) var count = 0

    /// The least number of served places whose memory is reclaimed, once they are half of all places.
    private static var compactionLimit: Int { 256 }

    /// Adds a member at the end; returns the number of its place.
    mutating func enter(_ member: Member) -> Int {
        enter(member, number: lastNumber + 1)
        return lastNumber
    }

    /// Adds a member at the place that its number gives.
    ///
    /// No two waiting members may have the same number.
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

    /// Removes the member with a number.
    mutating func leave(_ number: Int) {
        let index = index(of: number)
        guard index < places.count, places[index].number == number, places[index].member != nil else { return }
        places[index].member = nil
        count -= 1
        trim()
    }

    /// Removes and returns the first member; `nil` when the queue is empty.
    mutating func next() -> Member? {
        guard head < places.count else { return nil }
        let member = places[head].member.take()
        count -= 1
        trim()
        return member
    }

    /// Removes and returns the last member; `nil` when the queue is empty.
    mutating func removeLast() -> Member? {
        guard places.count > head else { return nil }
        let member = places.removeLast().member
        count -= 1
        trim()
        return member
    }

    /// The last member, which stays in the queue.
    var last: Member? { count > 0 ? places.last?.member : nil }

    /// The first member, which stays in the queue.
    var first: Member? { count > 0 ? places[head].member : nil }

    /// Returns the first member with this number or a higher one for which `isWanted` is true; the member stays in the
    /// queue.
    func first(from number: Int = 0, where isWanted: (Member) -> Bool) -> Member? {
        for place in places[(number > 0 ? index(of: number) : head)...] {
            if let member = place.member, isWanted(member) { return member }
        }
        return nil
    }

    /// The index of the place with a number, or the index at which it would be inserted.
    private func index(of number: Int) -> Int {
        var (low, high) = (head, places.count)
        if let last = places.last, last.number < number { return high }
        while low < high {
            let middle = (low + high) / 2
            if places[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Removes places at both ends that members have left.
    private mutating func trim() {
        while head < places.count, places[head].member == nil { head += 1 }
        while places.count > head, places[places.count - 1].member == nil { places.removeLast() }
        compact()
    }

    private mutating func compact() {
        guard head == places.count || head >= max(Self.compactionLimit, places.count / 2) else { return }
        places.removeFirst(head)
        head = 0
    }
}
