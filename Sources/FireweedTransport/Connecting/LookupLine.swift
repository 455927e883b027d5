// Which name is looked up next, as a table.

/// A question to the name service: the addresses of a host in one family.
struct NameQuestion: Sendable, Hashable {
    var host: String
    var family: AddressFamily
}

/// The line in front of the threads that look names up.
///
/// Questions leave the line in order. Names whose last look-up took long may use no more than half of the threads: a
/// name server that does not answer must not keep other names waiting.
struct LookupLine {
    /// A look-up that takes longer than this counts as slow, in nanoseconds.
    static let slowLookupTime: LoopInstant = 1_000_000_000
    /// Most names that are remembered as slow.
    private static let memoryLimit = 1024

    private let threadLimit: Int
    private var waiting: [NameQuestion] = []
    private var running: [NameQuestion: LoopInstant] = [:]
    private var slowHosts: Set<String> = []

    /// Makes a line in front of a number of threads.
    init(threadLimit: Int) {
        self.threadLimit = threadLimit
    }

    /// Puts a question at the end.
    mutating func enter(_ question: NameQuestion) {
        waiting.append(question)
    }

    /// Takes a question out that has no waiter; false when it is being asked, or is not there.
    mutating func leave(_ question: NameQuestion) -> Bool {
        guard let index = waiting.firstIndex(of: question) else { return false }
        waiting.remove(at: index)
        return true
    }

    /// The question that a free thread asks next; `nil` when none may be asked.
    mutating func next(at now: LoopInstant) -> NameQuestion? {
        guard running.count < threadLimit else { return nil }
        let slowCount = running.count { slowHosts.contains($0.key.host) || $0.value + Self.slowLookupTime <= now }
        let index = waiting.firstIndex { slowCount < threadLimit / 2 || !slowHosts.contains($0.host) }
        guard let index else { return nil }
        let question = waiting.remove(at: index)
        running[question] = now
        return question
    }

    /// Notes that a question was answered.
    mutating func didEnd(_ question: NameQuestion, at now: LoopInstant) {
        guard let start = running.removeValue(forKey: question) else { return }
        if start + Self.slowLookupTime > now {
            slowHosts.remove(question.host)
        } else {
            if slowHosts.count >= Self.memoryLimit { slowHosts.removeAll() }
            slowHosts.insert(question.host)
        }
    }

    /// Takes all questions out that wait.
    mutating func removeAll() -> [NameQuestion] {
        defer { waiting.removeAll() }
        return waiting
    }
}
