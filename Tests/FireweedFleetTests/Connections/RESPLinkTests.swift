// Connections that have ended.

import FireweedTransport
import FixtureServer
import Testing

@testable import FireweedFleet

@Suite("Links to a server", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RESPLinkTests {
    /// Keeps nothing alive.
    private struct Remains {
        weak var link: RESPLink?
    }

    private func owner(_ port: Int, _ connector: ByteConnector) throws -> RESPConnection {
        RESPConnection(
            to: try FleetEndpoint("redis://127.0.0.1:\(port)"), connector: connector, loop: 0,
            limits: RESPParser.Limits(), overdue: TimedOutReplies())
    }

    private func link(_ port: Int, _ owner: RESPConnection) throws -> RESPLink {
        RESPLink(
            .discovery(primary: "p"),
            at: .host("127.0.0.1", port: try #require(UInt16(exactly: port)), isSecure: false),
            owner: owner, limits: RESPParser.Limits())
    }

    @Test("a link that was closed, or that the server closed, is released", arguments: [true, false])
    func released(isClosedHere: Bool) async throws {
        let server = try ScriptedServer.start(scripts: [[isClosedHere ? .hold : .close]])
        let connector = ByteConnector(options: TransportOptions(), trustRules: nil)
        let owner = try owner(Int(server.port), connector)
        var remains = Remains()
        do {
            let link = try link(Int(server.port), owner)
            remains.link = link
            link.begin(with: connector, loop: 0, timeout: .seconds(20))
            if isClosedHere { link.close() }
        }
        while remains.link != nil { await Task.yield() }
    }

    @Test("a link that was closed before it began never connects")
    func closedFirst() async throws {
        let server = try ScriptedServer.start(scripts: [[.close]])
        let connector = ByteConnector(options: TransportOptions(), trustRules: nil)
        let owner = try owner(Int(server.port), connector)
        var remains = Remains()
        do {
            let link = try link(Int(server.port), owner)
            remains.link = link
            link.close()
            link.begin(with: connector, loop: 0, timeout: .seconds(20))
        }
        #expect(remains.link == nil, "no connection keeps the link")
    }
}
