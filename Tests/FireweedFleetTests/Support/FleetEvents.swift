// A recorder of a fleet's events.

import FireweedFleet
import FixtureServer

/// Notes whether a fleet is degraded.
final class FleetEvents: Sendable {
    enum Event: Sendable, Equatable { case degraded, recovered }

    let log = EventLog<Event>()

    /// A configuration with this recorder, for a loaded machine.
    func configuration(deadline: Duration = .seconds(20)) -> Fleet.Configuration {
        var configuration = Fleet.Configuration()
        configuration.commandDeadline = deadline
        configuration.eventHandler = { [log] event in
            switch event {
            case .degraded: log.note(.degraded)
            case .recovered: log.note(.recovered)
            }
        }
        return configuration
    }
}

extension Fleet.Configuration {
    /// A deadline that holds on a loaded machine.
    static var patient: Fleet.Configuration {
        var configuration = Fleet.Configuration()
        configuration.commandDeadline = .seconds(20)
        return configuration
    }
}
