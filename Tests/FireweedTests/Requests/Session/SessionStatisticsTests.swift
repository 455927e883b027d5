import Fireweed
import FireweedTesting
import FixtureServer
import Foundation
import Testing

/// Keeps what it is notified of.
private final class ConnectionRecorder: ConnectionObserver {
    let opened = ProtectedList<ObservedConnection>()
    let closed = ProtectedList<(connection: ObservedConnection, duration: Duration)>()

    func connectionOpened(_ connection: ObservedConnection) { opened.append(connection) }

    func connectionClosed(_ connection: ObservedConnection, after duration: Duration) {
        closed.append((connection, duration))
    }
}

@Suite("Session statistics", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SessionStatisticsTests {
    private func origin(of url: URL) throws -> ConnectionOrigin {
        ConnectionOrigin(scheme: "http", host: try #require(url.host), port: try #require(url.port))
    }

    @Test("a connection is idle after its request, and gone when idle ones are closed")
    func idle() async throws {
        let server = try FixtureServer.start()
        let recorder = ConnectionRecorder()
        var options = TransportOptions()
        options.connectionObserver = recorder
        let session = Session.isolated(transportOptions: options)
        #expect(session.statistics == SessionStatistics(activeRequestCount: 0, origins: []))
        _ = try await session.request(server.url("/anything")).serializingData().value
        await eventually("the connection is idle") { session.statistics.idle == 1 }
        var expected = OriginStatistics(origin: try origin(of: server.url))
        expected.idle = 1
        #expect(session.statistics.origins == [expected] && session.activeRequestCount == 0)
        session.transport.closeIdleConnections()
        await eventually("the connection is closed") { session.statistics.origins.isEmpty }
        #expect(recorder.opened.all.map(\.origin) == [expected.origin] && recorder.closed.all.count == 1)
        let closed = try #require(recorder.closed.all.first)
        #expect(closed.connection.details.protocolName == "http/1.1" && closed.duration > .zero)
        #expect(closed.connection.details.remoteEndpoint?.port == expected.origin.port)
    }

    @Test("requests that a connection serves, and those that wait for one")
    func waiting() async throws {
        let server = try ScriptedServer.start([.receiveHead, .hold])
        let session = Session.isolated { $0.httpMaximumConnectionsPerHost = 1 }
        let tasks = (0..<3).map { _ in session.request(server.url()).serializingData() }
        await eventually("one is served, two wait") {
            let statistics = session.statistics
            return statistics.active == 1 && statistics.waiting == 2 && statistics.activeRequestCount == 3
        }
        #expect(session.statistics.connecting == 0 && session.statistics.idle == 0)
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.response }
        await eventually("nothing is left") { session.statistics.origins.isEmpty }
        #expect(session.statistics.activeRequestCount == 0)
    }

    @Test("a decorator has the statistics of what it wraps, and stubs have none")
    func others() async throws {
        let server = try FixtureServer.start()
        let session = Session(transport: TransportDecorator(EngineTransport()))
        _ = try await session.request(server.url("/anything")).serializingData().value
        await eventually("the connection is idle") { session.statistics.idle == 1 }
        #expect(Session.stubbed { Stub.any().reply(.status(204)) }.statistics.origins.isEmpty)
    }
}
