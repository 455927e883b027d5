// Metrics of connections.

import CoreMetrics
import Fireweed
import FireweedMetrics
import FixtureServer
import Foundation
import FoundationNetworking
import MetricsTestKit
import Testing

@Suite("Metrics of connections", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ConnectionMetricsTests {
    private let stage = MetricsStage()

    private func session(observedBy metrics: ConnectionMetrics, connections: Int = 6) -> Session {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.timeoutIntervalForRequest = TimeInterval(TestTimeouts.seconds)
        configuration.httpMaximumConnectionsPerHost = connections
        var options = TransportOptions()
        options.connectionObserver = metrics
        return Session(configuration: configuration, eventMonitors: [], transportOptions: options)
    }

    private func gauge(_ name: String, state: String? = nil, _ url: URL) throws -> Double? {
        let address = [("server.address", url.host ?? ""), ("server.port", "\(url.port ?? 0)")]
        return try stage.factory.expectMeter(name, (state.map { [("http.connection.state", $0)] } ?? []) + address)
            .lastValue
    }

    @Test("gauges have what a session has, and 0 when it is gone; a closed connection has a duration")
    func idle() async throws {
        let server = try FixtureServer.start()
        let metrics = ConnectionMetrics(options: stage.options())
        let session = session(observedBy: metrics)
        _ = try await session.request(server.url("/get")).serializingData().value
        while session.statistics.idle < 1 { await Task.yield() }
        metrics.update(from: session)
        #expect(try gauge("http.client.open_connections", state: "idle", server.url) == 1)
        #expect(try gauge("http.client.open_connections", state: "active", server.url) == 0)
        #expect(try gauge("fireweed.client.waiting_requests", server.url) == 0)
        session.transport.closeIdleConnections()
        while session.statistics.origins.first != nil { await Task.yield() }
        metrics.update(from: session)
        #expect(try gauge("http.client.open_connections", state: "idle", server.url) == 0)
        while stage.factory.timers.first?.values.isEmpty != false { await Task.yield() }
        let duration = try stage.factory.expectTimer(
            "http.client.connection.duration",
            [
                ("server.address", "127.0.0.1"), ("server.port", "\(server.port)"), ("network.protocol.version", "1.1"),
            ])
        #expect(duration.values.count == 1 && duration.values[0] > 0 && duration.displayUnit == .seconds)
    }

    @Test("requests that are served, and those that wait")
    func waiting() async throws {
        let server = try ScriptedServer.start([.receiveHead, .hold])
        let metrics = ConnectionMetrics(options: stage.options())
        let session = session(observedBy: metrics, connections: 1)
        let tasks = (0..<3).map { _ in session.request(server.url()).serializingData() }
        while session.statistics.active != 1 || session.statistics.waiting != 2 { await Task.yield() }
        metrics.update(from: session)
        #expect(try gauge("http.client.open_connections", state: "active", server.url()) == 1)
        #expect(try gauge("fireweed.client.waiting_requests", server.url()) == 2)
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.response }
    }

    @Test("sessions that share the metrics are added, and addresses are bounded")
    func sums() throws {
        let metrics = ConnectionMetrics(options: stage.options { $0.addressLimit = 2 })
        func statistics(_ host: String) -> OriginStatistics {
            var statistics = OriginStatistics(origin: ConnectionOrigin(scheme: "https", host: host, port: 443))
            statistics.idle = 1
            return statistics
        }
        metrics.update(from: [statistics("a.test"), statistics("b.test"), statistics("a.test")])
        metrics.update(from: (0..<1000).map { statistics("host\($0).test") } + [statistics("a.test")])
        let idle = stage.factory.meters.filter { $0.dimensions.contains { $0 == ("http.connection.state", "idle") } }
        let values = Dictionary(uniqueKeysWithValues: idle.map { ($0.dimensions[1].1, $0.values) })
        #expect(values == ["a.test": [2, 1], "b.test": [1, 0], "_OTHER": [1000]])
        for (metric, names) in stage.labelNames { #expect(names.count == 1, "\(metric): \(names)") }
    }
}
