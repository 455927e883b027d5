// The order in which names are looked up.

/// The queue of the names that wait for a look-up thread.
///
/// A name server that does not answer must not keep names of other servers waiting:
/// - A name whose last look-up was quick may take any thread.
/// - Names without an earlier look-up take at most half of the threads; a look-up that runs longer than
///   `slowLookupTime` counts as slow and frees its place in that half. These names and slow look-ups together take at
///   most three quarters.
/// - A name whose last look-up was slow is looked up while slow look-ups take less than a quarter of the threads.
///
/// Names of the same kind are looked up in the order in which they entered.
struct LookupQueue {
    /// The kind of a name by its last look-up, the most urgent kind first.
    private enum Kind: Int, CaseIterable {
        case answered, untried, slow
    }

    /// A look-up that takes longer than this is slow, in nanoseconds.
    static let slowLookupTime: LoopInstant = 1_000_000_000
    /// The most names whose last look-up is remembered.
    private static let memoryLimit = 1024

    private let threadLimit: Int
    /// The names that wait, by kind.
    private var lines = Kind.allCases.map { _ in WaitingQueue<String>() }
    private var places: [String: (kind: Kind, number: Int)] = [:]
    private var running: [String: (kind: Kind, start: LoopInstant)] = [:]
    private var known: [String: Kind] = [:]

    /// Makes an empty queue for a number of threads.
    init(threadLimit: Int) {
        self.threadLimit = threadLimit
    }

    /// Adds a name at the end; the name must be neither in the queue nor being looked up.
    mutating func enter(_ name: String) {
        let kind = known[name] ?? .untried
        places[name] = (kind, lines[kind.rawValue].enter(name))
    }

    /// Removes a name that no handler needs any more; false if the name is being looked up or is not in the queue.
    mutating func leave(_ name: String) -> Bool {
        guard let place = places.removeValue(forKey: name) else { return false }
        lines[place.kind.rawValue].leave(place.number)
        return true
    }

    /// The number of names that are being looked up.
    var runningCount: Int { running.count }

    /// The number of waiting names that could be looked up now.
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

    /// The time at which the next running look-up becomes slow, and so makes room for a waiting untried name.
    ///
    /// `nil` if no name waits for this: there is no untried name, an untried name may be looked up now, or only the end
    /// of a look-up makes room.
    func nextRoom(at now: LoopInstant) -> LoopInstant? {
        let room = room(at: now)
        guard lines[Kind.untried.rawValue].count > 0, room.all > 0, room.unanswered > 0, room.untried <= 0 else {
            return nil
        }
        let times = running.values.lazy.filter { $0.kind == .untried }.map { $0.start + Self.slowLookupTime }
        return times.filter { $0 > now }.min()
    }

    /// Removes and returns the name that a free thread looks up next; `nil` if none may be looked up now.
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

    /// Removes and returns all waiting names.
    mutating func removeAll() -> [String] {
        let names = Array(places.keys)
        self.places = [:]
        lines = Kind.allCases.map { _ in WaitingQueue<String>() }
        return names
    }

    /// The number of free threads for each kind of name; negative when more look-ups than a limit allows have become
    /// slow.
    private struct Room {
        var all: Int
        /// For untried and slow names together.
        var unanswered: Int
        /// For untried names; look-ups that have become slow are not counted.
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
