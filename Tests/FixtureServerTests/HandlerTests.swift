import Foundation
import Testing

@testable import FixtureServer

@Suite("Handlers of the fixture server")
struct HandlerTests {
    @Test("a server answers any number of requests with the same handler")
    func manyRequests() throws {
        let server = try FixtureServer.start()
        server.answer { _ in FixtureResponse(status: 204) }
        server.observe { _, _ in }
        let core = ServerCore(events: EventLog(), scheme: "http")
        core.attach { server.answer($0) }
        let request = ReceivedRequest(
            scheme: "http", method: "GET", target: "/", fields: [], body: Data(), bodyByteCount: 0, bodyChecksum: 0)
        #expect((0..<50_000).allSatisfy { _ in core.answer(request).status == 204 })
        server.stop()
    }
}
