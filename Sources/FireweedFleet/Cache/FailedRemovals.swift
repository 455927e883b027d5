// The table of removals that the server has not made.

/// A table of the removals that failed; pure.
struct FailedRemovals: Sendable {
    /// Each failure has a number, so that a removal that was sent earlier does not clear a later failure.
    enum Failure: Sendable, Equatable {
        case removal(FleetCacheRemoval, number: UInt64)
        /// More removals failed than are remembered: everything must be removed.
        case everything(number: UInt64)
    }

    static let limit = 4096

    /// The failures of each shared key; look-ups of every partition read the shared key.
    private var removals: [RESPArgument: [FleetCacheRemoval: UInt64]] = [:]
    private var count = 0
    private var lastNumber: UInt64 = 0
    private var everything: UInt64?

    mutating func add(_ removal: FleetCacheRemoval) {
        lastNumber += 1
        if removals[removal.shared]?[removal] == nil {
            guard count < Self.limit else {
                everything = lastNumber
                return
            }
            count += 1
        }
        removals[removal.shared, default: [:]][removal] = lastNumber
    }

    /// Returns a removal that must succeed before the server's responses of a shared key are used again.
    func failure(of shared: RESPArgument) -> Failure? {
        if let everything { return .everything(number: everything) }
        return removals[shared]?.first.map { .removal($0.key, number: $0.value) }
    }

    var isEmpty: Bool { removals.isEmpty && everything == nil }

    /// All removals that the server has not made yet.
    var all: [Failure] {
        if let everything { return [.everything(number: everything)] }
        return removals.values.flatMap { $0.map { .removal($0.key, number: $0.value) } }
    }

    /// Notes that a removal was made; a later failure of the same removal stays.
    mutating func end(_ failure: Failure) {
        switch failure {
        case .everything(let number):
            guard everything == number else { return }
            self = FailedRemovals(lastNumber: lastNumber)
        case .removal(let removal, let number):
            guard removals[removal.shared]?[removal] == number else { return }
            removals[removal.shared]?[removal] = nil
            if removals[removal.shared]?.isEmpty == true { removals[removal.shared] = nil }
            count -= 1
        }
    }

    init() {}

    private init(lastNumber: UInt64) {
        self.lastNumber = lastNumber
    }
}
