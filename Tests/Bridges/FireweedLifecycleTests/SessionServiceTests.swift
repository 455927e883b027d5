// Sessions in a group of services that shuts down.

import Fireweed
import FireweedLifecycle
import FireweedTesting
import FixtureServer
import Foundation
import Logging
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

@Suite("Sessions as services", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SessionServiceTests {
    private func reason(_ error: AFError?) -> SessionDrainError? { error?.underlyingError as? SessionDrainError }

    /// A server that has a request until a signal, and the request.
    private func begin(_ session: Session) async throws -> (ScriptedServer, DataTask<String>) {
        let server = try ScriptedServer.start([
            .receiveHead, .wait(for: "answer"), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .hold,
        ])
        let task = session.request(server.url()).serializingString()
        try await server.events.first { if case .head = $0 { true } else { false } }
        return (server, task)
    }

    private func draining(_ session: Session) async {
        while !session.isDraining { await Task.yield() }
    }

    @Test("a shutdown lets requests end and refuses new ones; the service ends with the last")
    func shutdown() async throws {
        let session = Session(configuration: .af.ephemeral)
        let (server, task) = try await begin(session)
        await testGracefulShutdown { trigger in
            async let run: Void = SessionService(session: session, drainingWithin: .seconds(600)).run()
            #expect(!session.isDraining)
            trigger.triggerGracefulShutdown()
            await draining(session)
            #expect(reason(await session.request(server.url()).serializingData().response.error) == .draining)
            server.signal("answer")
            await run
        }
        #expect(await task.response.value == "ok")
        #expect(session.activeRequestCount == 0)
        try await server.events.first { $0 == .closedByPeer(0) }
    }

    @Test("a limit of zero cancels the requests at the shutdown")
    func limit() async throws {
        let session = Session(configuration: .af.ephemeral)
        let (server, task) = try await begin(session)
        await testGracefulShutdown { trigger in
            trigger.triggerGracefulShutdown()
            await SessionService(session: session, drainingWithin: .zero).run()
        }
        #expect(reason(await task.response.error) == .limitReached)
        server.signal("answer")  // until then the server does not look
        try await server.events.first { $0 == .closedByPeer(0) }
    }

    @Test("cancelling the service cancels the requests, before and during the drain", arguments: [false, true])
    func cancel(duringDrain: Bool) async throws {
        let session = Session(configuration: .af.ephemeral)
        let (server, request) = try await begin(session)
        await testGracefulShutdown { trigger in
            let service = Task { await SessionService(session: session, drainingWithin: .seconds(600)).run() }
            if duringDrain {
                trigger.triggerGracefulShutdown()
                await draining(session)
            }
            service.cancel()
            await service.value
        }
        #expect(reason(await request.response.error) == .limitReached)
        #expect(session.isDraining)
        server.signal("answer")  // until then the server does not look
        try await server.events.first { $0 == .closedByPeer(0) }
    }

    @Test("a group ends with its session, in the order of its services")
    func group() async throws {
        let session = Session(configuration: .af.ephemeral)
        let (server, task) = try await begin(session)
        let (starts, start) = AsyncStream.makeStream(of: Void.self)
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(service: SessionService(session: session, drainingWithin: .seconds(600))),
                    .init(service: Sender(start: start)),
                ],
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
        async let run: Void = group.run()
        for await _ in starts { break }
        await group.triggerGracefulShutdown()
        await draining(session)
        server.signal("answer")
        try await run
        #expect(await task.response.value == "ok")
    }
}

/// A service that says when it runs, and ends with the group.
private struct Sender: Service {
    let start: AsyncStream<Void>.Continuation

    func run() async throws {
        start.yield()
        try await gracefulShutdown()
    }
}
