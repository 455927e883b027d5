// The tables of a guard, one for each origin.

import FireweedTransport

/// One state for each origin, without those that say nothing any more.
struct OriginStates<State: Sendable>: Sendable {
    private(set) var states: [String: State] = [:]
    /// With so many origins, the idle ones are removed.
    private var limit = leastLimit

    private static var leastLimit: Int { 256 }

    /// Changes the state of an origin, which `make` makes where there is none.
    mutating func change<Result>(
        _ origin: String, otherwise make: () -> State, removing isIdle: (State) -> Bool,
        _ body: (inout State) -> Result
    ) -> Result {
        if states[origin] == nil, states.count >= limit {
            states = states.filter { !isIdle($0.value) }
            // As many origins come before the next sweep as this one has looked at.
            limit = max(Self.leastLimit, 2 * states.count)
        }
        return body(&states[origin, default: make()])
    }
}

extension RequestMessage {
    /// The origin as a text, scheme, host and port; `nil` for a URL that cannot be sent to.
    var originText: String? { (try? RequestTarget(url))?.origin }
}
