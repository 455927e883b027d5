// The states of a guard, one for each origin.

import FireweedTransport

/// One state for each origin; when there are many, idle states that were used least recently are evicted.
struct OriginStates<State: Sendable>: Sendable {
    private struct Entry: Sendable {
        var state: State
        private(set) var lastUse = 0

        mutating func use<Result>(_ number: Int, _ body: (inout State) -> Result) -> Result {
            lastUse = number
            return body(&state)
        }
    }

    private var entries: [String: Entry] = [:]
    private var useNumber = 0
    /// The number of origins from which on idle origins in the least recently used half are removed.
    private var limit = leastLimit

    private static var leastLimit: Int { 256 }

    /// The states by origin.
    var states: [String: State] { entries.mapValues(\.state) }

    /// Changes the state of an origin; `make` makes a missing state.
    mutating func change<Result>(
        _ origin: String, otherwise make: () -> State, removing isIdle: (State) -> Bool,
        _ body: (inout State) -> Result
    ) -> Result {
        if entries[origin] == nil, entries.count >= limit { forget(isIdle) }
        useNumber += 1
        return entries[origin, default: Entry(state: make())].use(useNumber, body)
    }

    private mutating func forget(_ isIdle: (State) -> Bool) {
        let middle = entries.values.map(\.lastUse).sorted()[entries.count / 2]
        entries = entries.filter { $0.value.lastUse >= middle || !isIdle($0.value.state) }
        // The next sweep comes only after half as many origins more, which share its cost.
        limit = max(Self.leastLimit, entries.count + entries.count / 2)
    }
}

extension RequestMessage {
    /// The origin as a text, scheme, host and port; `nil` for a URL that cannot be sent to.
    var originText: String? { (try? RequestTarget(url))?.origin }
}
