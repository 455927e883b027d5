// The circuit breaker of the fleet's server.

package import Fireweed

extension CircuitState.Rule {
    /// Three failures in a row open the circuit for a second, doubling to 4 seconds; with these short pauses a waiting
    /// vault finds the server soon after a failover.
    package static let fleet = CircuitState.Rule(
        trip: .failuresInARow(3), firstPause: 1_000_000_000, longestPause: 4_000_000_000, probeCount: 1)
}
