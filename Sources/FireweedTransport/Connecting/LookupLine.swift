// The order in which names are looked up, as a table.

/// The line in front of the threads that look names up.
///
/// A name whose last answer came soon may take any thread. Names that were never answered take half of the threads at
/// most, and names whose last look-up was slow a quarter: a name server that does not answer must not keep names of
/// other servers waiting. Among equals, the first name in the line is the first to be looked up.
struct LookupLine {
    /// The kinds of a name by its earlier look-ups, the most urgent kind first.
    private enum Kind: Int, CaseIterable {
        case answered, untried, slow
    }

    /// A look-up that takes longer than this is slow, in nanoseconds.
    static let slowLookupTime: LoopInstant = 1_000_000_000
    /// Most names whose last look-up is remembered.
    private static let memoryLimit = 1024

    private let threadLimit: Int
    /// The names that wait, by kind.
    private var lines = Kind.allCases.map { _ in WaitingLine<String>() }
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

    /// Whether `next(at:)` has a name for another thread.
    func hasNext(at now: LoopInstant) -> Bool {
        let room = room(at: now)
        return Kind.allCases.contains { room.allows($0) && lines[$0.rawValue].count > 0 }
    }

    /// The name that a free thread looks up next; `nil` when none may be looked up now.
    mutating func next(at now: LoopInstant) -> String? {
        let room = room(at: now)
        for kind in Kind.allCases where room.allows(kind) {
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
        lines = Kind.allCases.map { _ in WaitingLine<String>() }
        return names
    }

    /// The number of threads that are free for each kind of name.
    private struct Room {
        var all: Int
        var unanswered: Int
        var slow: Int

        func allows(_ kind: Kind) -> Bool {
            switch kind {
            case .answered: all > 0
            case .untried: all > 0 && unanswered > 0
            case .slow: all > 0 && unanswered > 0 && slow > 0
            }
        }
    }

    private func room(at now: LoopInstant) -> Room {
        var room = Room(all: threadLimit, unanswered: max(1, threadLimit / 2), slow: max(1, threadLimit / 4))
        for (kind, start) in running.values {
            let isSlow = kind == .slow || start + Self.slowLookupTime <= now
            room.all -= 1
            if isSlow || kind == .untried { room.unanswered -= 1 }
            if isSlow { room.slow -= 1 }
        }
        return room
    }
}
