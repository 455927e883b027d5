// The states of a guard, one for each origin.

import FireweedTransport

/// Keeps one state for each origin; when there are many, idle states that were used least recently are evicted.
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
    /// When there are this many origins, the next new origin evicts the idle ones in the least recently used half.
    private var limit = leastLimit

    private static var leastLimit: Int { 256 }

    /// The states by origin.
    var states: [String: State] { entries.mapValues(\.state) }

    /// Changes the state of an origin; `make` makes a missing state, and `isIdle` says whether a state may be evicted.
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
        // An eviction visits all origins, so the next one waits until the number of origins has grown by half.
        limit = max(Self.leastLimit, entries.count + entries.count / 2)
    }
}

extension RequestMessage {
    /// The origin as text: scheme, host and port; `nil` for a URL that no message can be sent to.
    var originText: String? { (try? RequestTarget(url))?.origin }
}
