// The order in which names are looked up, as a table.

/// The line in front of the threads that look names up.
///
/// A name server that does not answer must not keep names of other servers waiting:
/// - A name whose last answer came soon may take any thread.
/// - Names that were never answered take three quarters of the threads at most, and half of the threads within one
///   `slowLookupTime`. A look-up that has run for longer is slow, and gives its place among the half back.
/// - Names whose last look-up was slow are looked up while fewer than a quarter of the threads are with slow look-ups.
///
/// Among equals, the first name in the line is the first to be looked up.
struct LookupQueue {
    /// What earlier look-ups say about a name, the most urgent kind first.
    private enum Kind: Int, CaseIterable {
        case answered, untried, slow
    }

    /// A look-up that takes longer than this is slow, in nanoseconds.
    static let slowLookupTime: LoopInstant = 1_000_000_000
    /// Most names whose last look-up is remembered.
    private static let memoryLimit = 1024

    private let threadLimit: Int
    /// The names that wait, by kind.
    private var lines = Kind.allCases.map { _ in WaitingQueue<String>() }
    private var places: [String: (kind: Kind, number: Int)] = [:]
    private var running: [String: (kind: Kind, start: LoopInstant)] = [:]
    private var known: [String: Kind] = [:]

    /// Makes a line in front of a number of threads.
    init(threadLimit: Int) {
        self.threadLimit = threadLimit
    }

    /// Puts a name at the end, which is neither in the line nor being looked up.
    mutating func enter(_ name: String) {
        let kind = known[name] ?? .untried
        places[name] = (kind, lines[kind.rawValue].enter(name))
    }

    /// Takes a name without waiters out; false when it is being looked up, or is not there.
    mutating func leave(_ name: String) -> Bool {
        guard let place = places.removeValue(forKey: name) else { return false }
        lines[place.kind.rawValue].leave(place.number)
        return true
    }

    /// How many names are being looked up.
    var runningCount: Int { running.count }

    /// For how many of the names that wait `next(at:)` has a thread.
    func startableCount(at now: LoopInstant) -> Int {
        var room = room(at: now)
        var total = 0
        for kind in Kind.allCases {
            let count = min(lines[kind.rawValue].count, room.count(for: kind))
            room.take(count, kind)
            total += count
        }
        return total
    }

    /// The time at which the next running look-up turns slow, and so makes room for an untried name that waits.
    ///
    /// `nil` when no name waits for that: such names may be looked up now, or have to wait until a look-up ends.
    func nextRoom(at now: LoopInstant) -> LoopInstant? {
        let room = room(at: now)
        guard lines[Kind.untried.rawValue].count > 0, room.all > 0, room.unanswered > 0, room.untried <= 0 else {
            return nil
        }
        let times = running.values.lazy.filter { $0.kind == .untried }.map { $0.start + Self.slowLookupTime }
        return times.filter { $0 > now }.min()
    }

    /// The name that a free thread looks up next; `nil` when none may be looked up now.
    mutating func next(at now: LoopInstant) -> String? {
        let room = room(at: now)
        for kind in Kind.allCases where room.count(for: kind) > 0 {
            guard let name = lines[kind.rawValue].next() else { continue }
            places[name] = nil
            running[name] = (kind, now)
            return name
        }
        return nil
    }

    /// Notes that a look-up has ended.
    mutating func didEnd(_ name: String, at now: LoopInstant) {
        guard let start = running.removeValue(forKey: name)?.start else { return }
        if known.count >= Self.memoryLimit, known[name] == nil { known.removeAll() }
        known[name] = start + Self.slowLookupTime > now ? .answered : .slow
    }

    /// Takes all names out that wait.
    mutating func removeAll() -> [String] {
        let names = Array(places.keys)
        self.places = [:]
        lines = Kind.allCases.map { _ in WaitingQueue<String>() }
        return names
    }

    /// How many threads are free for each kind of name; less than none after a while of slow look-ups.
    private struct Room {
        var all: Int
        /// For names that are not known to be answered.
        var unanswered: Int
        /// For untried names, besides those whose look-up has turned slow.
        var untried: Int
        var slow: Int

        func count(for kind: Kind) -> Int {
            switch kind {
            case .answered: max(0, all)
            case .untried: max(0, min(all, unanswered, untried))
            case .slow: max(0, min(all, unanswered, slow))
            }
        }

        mutating func take(_ count: Int, _ kind: Kind) {
            all -= count
            if kind != .answered { unanswered -= count }
            if kind == .untried { untried -= count }
            if kind == .slow { slow -= count }
        }
    }

    private func room(at now: LoopInstant) -> Room {
        var room = Room(
            all: threadLimit, unanswered: max(1, threadLimit * 3 / 4), untried: max(1, threadLimit / 2),
            slow: max(1, threadLimit / 4))
        for (kind, start) in running.values {
            room.take(1, start + Self.slowLookupTime <= now ? .slow : kind)
        }
        return room
    }
}
