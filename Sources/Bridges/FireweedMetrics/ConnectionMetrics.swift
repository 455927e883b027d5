// Metrics of a session's connections.

#if SwiftMetrics
import CoreMetrics
public import Fireweed
import Synchronization

/// Measures the connections of sessions, by OpenTelemetry's conventions.
///
/// | metric | instrument | labels |
/// |---|---|---|
/// | `http.client.connection.duration` | timer, s | `server.address`, `server.port`, `network.protocol.version` |
/// | `http.client.open_connections` | meter | `http.connection.state`, `server.address`, `server.port` |
/// | `fireweed.client.waiting_requests` | meter | `server.address`, `server.port` |
///
/// A duration is recorded when a connection is closed; the meters are set by ``update(from:)``.
/// `http.connection.state` is `active` or `idle`.
///
/// ```swift
/// let connections = ConnectionMetrics()
/// var options = TransportOptions()
/// options.connectionObserver = connections
/// let session = Session(transportOptions: options, options: SessionOptions().measured())
/// // Before each scrape, or every few seconds:
/// connections.update(from: session)
/// ```
///
/// Connections of WebSockets are not measured.
public final class ConnectionMetrics: ConnectionObserver {
    private struct Address: Hashable {
        var host: String
        var port: Int

        var labels: [(String, String)] { [("server.address", host), ("server.port", String(port))] }
    }

    private struct Lifetime: Hashable {
        var address: Address
        var version: String
    }

    private struct Gauges {
        let active: any MeterHandler
        let idle: any MeterHandler
        let waiting: any MeterHandler
    }

    private struct State {
        var addresses: BoundedNames
        var lifetimes: [Lifetime: any TimerHandler] = [:]
        var gauges: [Address: Gauges] = [:]

        mutating func address(of origin: ConnectionOrigin) -> Address {
            addresses.admit("\(origin.host):\(origin.port)")
                ? Address(host: origin.host, port: origin.port) : Address(host: MessageInstruments.other, port: 0)
        }
    }

    private let options: MetricsOptions
    private let state: Mutex<State>

    /// Makes an observer.
    ///
    /// - Parameter options: the factory, `addressLimit` and `omitsEmptyLabels`; the other settings are not used.
    public init(options: MetricsOptions = MetricsOptions()) {
        self.options = options
        state = Mutex(State(addresses: BoundedNames(limit: options.addressLimit)))
    }

    // MARK: Lifetimes

    /// Does nothing.
    public func connectionOpened(_ connection: ObservedConnection) {}

    /// Records how long the connection was open.
    public func connectionClosed(_ connection: ObservedConnection, after duration: Duration) {
        let version =
            switch connection.details.protocolName {
            case "h2": "2"
            case "http/1.1": "1.1"
            default: ""
            }
        timer(of: connection.origin, version).recordNanoseconds(
            duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000)
    }

    private func timer(of origin: ConnectionOrigin, _ version: String) -> any TimerHandler {
        let (key, known) = state.withLock { state in
            let key = Lifetime(address: state.address(of: origin), version: version)
            return (key, state.lifetimes[key])
        }
        if let known { return known }
        // Outside the lock: the factory may have a lock of its own.
        let labels = options.labels(key.address.labels + [("network.protocol.version", version)])
        let made = options.effectiveFactory.makeTimer(inSeconds: "http.client.connection.duration", labels)
        return state.withLock { state in
            let first = state.lifetimes[key] ?? made
            state.lifetimes[key] = first
            return first
        }
    }

    // MARK: Gauges

    /// Sets the gauges to the current connections and waiting requests of sessions; gauges of origins that are gone
    /// become 0.
    ///
    /// The call does not wait for an event loop. It replaces the values of the previous call: pass all sessions that
    /// share these metrics.
    ///
    /// - Parameter sessions: the sessions.
    public func update(from sessions: Session...) { update(from: sessions.flatMap(\.statistics.origins)) }

    /// Sets the gauges to the statistics of origins, from any number of sessions.
    ///
    /// - Parameter origins: the statistics of origins; numbers of the same address are added.
    public func update(from origins: [OriginStatistics]) {
        var sums: [Address: (active: Int, idle: Int, waiting: Int)] = [:]
        var gauges = state.withLock { state in
            for origin in origins {
                let sum = sums[state.address(of: origin.origin), default: (0, 0, 0)]
                sums[state.address(of: origin.origin)] = (
                    sum.active + origin.active, sum.idle + origin.idle, sum.waiting + origin.waiting
                )
            }
            return state.gauges
        }
        for address in sums.keys where gauges[address] == nil { gauges[address] = makeGauges(of: address) }
        state.withLock { [gauges] state in state.gauges.merge(gauges) { first, _ in first } }
        for (address, gauge) in gauges {
            let sum = sums[address] ?? (0, 0, 0)
            gauge.active.set(Int64(sum.active))
            gauge.idle.set(Int64(sum.idle))
            gauge.waiting.set(Int64(sum.waiting))
        }
    }

    private func makeGauges(of address: Address) -> Gauges {
        let factory = options.effectiveFactory
        func connections(_ state: String) -> any MeterHandler {
            factory.makeMeter(
                label: "http.client.open_connections",
                dimensions: [("http.connection.state", state)] + address.labels)
        }
        return Gauges(
            active: connections("active"), idle: connections("idle"),
            waiting: factory.makeMeter(label: "fireweed.client.waiting_requests", dimensions: address.labels))
    }
}
#endif
