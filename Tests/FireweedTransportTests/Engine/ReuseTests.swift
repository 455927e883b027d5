import Dispatch
import FixtureServer
import Foundation
import Glibc
import Synchronization
import Testing

@testable import FireweedTransport

@Suite("Connection reuse", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ReuseTests {
    @Test("messages one after another go over one connection")
    func reuse() async throws {
        let exchange: [ScriptedServer.Action] = [.receiveHead, .send(Answer.small)]
        let server = try ScriptedServer.start(exchange + exchange + exchange + [.hold])
        try await EngineStage.play { stage in
            for index in 0..<3 {
                let transfer = try await stage.end(server.url())
                #expect(transfer.code == nil && transfer.record.end?.report.isReusedConnection == (index > 0))
            }
            #expect(server.events.events.count { if case .accepted = $0 { true } else { false } } == 1)
        }
    }

    @Test(
        "a message with an NTLM or Negotiate field of its own binds its connection",
        arguments: ["NTLM", "negotiate", " NTLM", "\tNegotiate"])
    func boundConnection(scheme: String) async throws {
        let exchange: [ScriptedServer.Action] = [.receiveHead, .send(Answer.small)]
        let server = try ScriptedServer.start(exchange + exchange + exchange + [.hold])
        try await EngineStage.play { stage in
            for (isBound, isReused) in [(true, false), (false, false), (true, true), (false, true)] {
                let transfer = try await stage.end(server.url()) { message in
                    guard isBound else { return }
                    message.fields = FieldBlock([Field(name: "authorization", value: "\(scheme) dG9rZW4=")])
                }
                #expect(transfer.record.end?.report.isReusedConnection == isReused)
            }
        }
    }

    @Test("a connection that carried content from a reader is used again", arguments: [5, 300_000])
    func reuseAfterReader(byteCount: Int) async throws {
        let exchange: [ScriptedServer.Action] = [.receiveHead, .receive(byteCount: byteCount), .send(Answer.small)]
        let server = try ScriptedServer.start(exchange + exchange + [.hold])
        try await EngineStage.play { stage in
            for isReused in [false, true] {
                let transfer = try await stage.end(server.url()) { message in
                    message.method = "PUT"
                    message.body = .reader { CountingReader(byteCount: byteCount, announces: true) }
                }
                #expect(transfer.code == nil && transfer.record.end?.report.isReusedConnection == isReused)
            }
        }
    }

    /// The keep-alive option and the user time-out, in seconds, of each socket of this process that is connected to a
    /// port.
    private func kernelSettings(ofConnectionsTo port: UInt16) -> [(keepAlive: Int32, userTimeout: Int32)] {
        (Int32(0)..<4096).compactMap { descriptor in
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let status = withUnsafeMutableBytes(of: &address) { bytes in
                getpeername(descriptor, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, &length)
            }
            guard status == 0, address.sin_port == port.bigEndian else { return nil }
            func option(_ level: Int32, _ name: Int32) -> Int32 {
                var value: Int32 = -1
                var size = socklen_t(MemoryLayout<Int32>.size)
                getsockopt(descriptor, level, name, &value, &size)
                return value
            }
            return (option(Int32(SOL_SOCKET), SO_KEEPALIVE), option(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT) / 1000)
        }
    }

    @Test("the kernel waits for a peer as long as the most patient exchange of the connection, and a minute at least")
    func userTimeout() async throws {
        let exchange: [ScriptedServer.Action] = [.receiveHead, .send(Answer.small)]
        let server = try ScriptedServer.start(exchange + exchange + exchange + exchange + [.hold])
        try await EngineStage.play { stage in
            for (idleTimeout, seconds) in [(30.0, Int32(60)), (90, 90), (70, 90), (0, 920)] {
                let transfer = try await stage.end(server.url()) { $0.idleTimeout = idleTimeout }
                #expect(transfer.code == nil)
                let settings = kernelSettings(ofConnectionsTo: server.port)
                #expect(settings.map(\.userTimeout) == [seconds] && settings.map(\.keepAlive) == [1])
            }
        }
    }

    /// What ends an idle connection, and how the server's script continues after the first answer.
    private static let endings: [(name: String, answer: String, rest: [ScriptedServer.Action])] = [
        ("the server closes", Answer.small, [.wait(for: "end"), .shutdownWrite, .hold]),
        ("unrequested bytes come", Answer.small, [.wait(for: "end"), .send(Answer.small), .hold]),
        ("a single byte comes", Answer.small, [.wait(for: "end"), .send("\n"), .hold]),
        ("the server says so", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", [.hold]),
        ("the server speaks HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", [.hold]),
        ("bytes follow the answer", Answer.small + "HTTP/1.1 200 OK\r\n\r\n", [.hold]),
        (
            "the server keeps it for no time",
            "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=0\r\nContent-Length: 5\r\n\r\nhello",
            [.hold]
        ),
    ]

    @Test("an idle connection is closed at once when", arguments: endings)
    func closed(row: (name: String, answer: String, rest: [ScriptedServer.Action])) async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send(row.answer)] + row.rest, [.receiveHead, .send(Answer.small), .hold])
        try await EngineStage.play { stage in
            let first = try await stage.end(server.url())
            #expect(first.code == nil && first.record.content == Data("hello".utf8))
            server.signal("end")
            try await server.events.next(.closedByPeer(0))
            // A method that may not be repeated shows that no stale connection was tried.
            let second = try await stage.end(server.url()) { $0.method = "POST" }
            #expect(second.code == nil && second.record.end?.report.isReusedConnection == false)
            #expect(second.record.end?.earlierReports.isEmpty == true)
        }
    }

    @Test("an idle connection is closed when its time is over")
    func idleTime() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Answer.small), .hold])
        try await EngineStage.play({ $0.maximumConnectionIdleTime = .milliseconds(20) }) { stage in
            _ = try await stage.end(server.url())
            try await server.events.next(.closedByPeer(0))
        }
    }

    @Test("of more idle connections than the limit, those that have been idle longest are closed", arguments: [0, 2])
    func idleLimit(limit: Int) async throws {
        let servers = try (0..<3).map { _ in
            try ScriptedServer.start(
                [.receiveHead, .send(Answer.small), .receiveHead, .send(Answer.small), .hold],
                [.receiveHead, .send(Answer.small), .hold])
        }
        try await EngineStage.play({ $0.maximumIdleConnections = limit }) { stage in
            for server in servers { _ = try await stage.end(server.url()) }
            for server in servers.dropLast(limit) { try await server.events.next(.closedByPeer(0)) }
            for (index, server) in servers.enumerated().reversed() {
                let end = try await stage.end(server.url()).record.end
                #expect(end?.report.isReusedConnection == (index >= servers.count - limit))
            }
        }
    }

    @Test("a message that is sent again tells of both tries")
    func again() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send(Answer.small), .receiveHead, .close], [.receiveHead, .send(Answer.small), .hold])
        try await EngineStage.play { stage in
            _ = try await stage.end(server.url())
            let second = try await stage.end(server.url())
            let end = try #require(second.record.end)
            #expect(end.failure == nil && second.record.content == Data("hello".utf8))
            #expect(end.earlierReports.map(\.isReusedConnection) == [true] && !end.report.isReusedConnection)
            #expect(end.earlierReports.first?.requestHeaderByteCount == end.report.requestHeaderByteCount)
            #expect(end.earlierReports.first?.responseStart == 0)
        }
    }

    @Test("content that can be read once is not sent again, and the error says so", arguments: [false, true])
    func oneShot(isHTTP2: Bool) async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send(Answer.small), .receiveHead, .receive(byteCount: 5), .close],
            [.receiveHead, .receive(byteCount: 5), .send(Answer.small), .hold])
        let peer = try SecurePeer(plainHTTP2: "close on the second, else answer")
        let url = isHTTP2 ? peer.url() : server.url()
        try await EngineStage.play({ $0.httpVersion = isHTTP2 ? .http2 : .http1Only }) { stage in
            _ = try await stage.end(url)
            let second = try await stage.end(url) { message in
                message.method = "PUT"
                message.body = .once(CountingReader(byteCount: 5, announces: true))
            }
            #expect(second.code == .networkConnectionLost && second.record.end?.earlierReports.isEmpty == true)
            #expect(second.failureText.hasPrefix("the connection closed"))
            #expect(second.failureText.contains("could not be sent again, since its content is a stream"))
        }
    }

    /// Lets a call of socket(2) wait for the test.
    private func parts(holding call: Int, _ hold: @escaping @Sendable () -> Void) -> EngineParts {
        let count = Atomic(0)
        var parts = EngineParts()
        parts.openSocket = { family, type in
            if count.add(1, ordering: .relaxed).newValue == call { hold() }
            return socket(family, type, 0)
        }
        return parts
    }

    @Test("a message whose connection was lost is not sent on another one that was used before, and is about to close")
    func anotherUsedConnection() async throws {
        let sent = DispatchSemaphore(value: 0)
        let server = try ScriptedServer.start(
            [.receiveHead, .wait(for: "b"), .send(Answer.small), .perform { sent.signal() }, .receiveHead, .close],
            [.receiveHead, .send(Answer.small), .receiveHead, .close],
            [.receiveHead, .send(Answer.small), .hold])
        // The busy connection becomes free while the new one is being made.
        let parts = parts(holding: 3) {
            server.signal("b")
            sent.wait()
        }
        try await EngineStage.play(limit: 2, parts: parts, { $0.eventLoops = 1 }) { stage in
            let busy = stage.transfer(server.url("/busy"))
            busy.start()
            _ = try await server.events.first { if case .head = $0 { true } else { false } }
            _ = try await stage.end(server.url("/first"))
            let second = try await stage.end(server.url("/second"))
            #expect(second.code == nil, "\(second.failureText)")
            #expect(second.record.end?.report.isReusedConnection == false)
            #expect(try await busy.end().failure == nil)
        }
    }

    @Test("a connection that becomes free makes room for a message that was lost")
    func room() async throws {
        let closing: [ScriptedServer.Action] = [.receiveHead, .send(Answer.small), .receiveHead, .close]
        let exchange: [ScriptedServer.Action] = [.receiveHead, .send(Answer.small)]
        let server = try ScriptedServer.start(closing, exchange + exchange + exchange + exchange + [.hold])
        try await EngineStage.play(limit: 1) { stage in
            _ = try await stage.end(server.url("/first"))
            let all = (0..<4).map { stage.transfer(server.url("/\($0)")) }
            for transfer in all { transfer.start() }
            for transfer in all { #expect(try await transfer.end().failure == nil, "\(transfer.failureText)") }
        }
    }

    @Test("a message is sent again once")
    func once() async throws {
        let closing: [ScriptedServer.Action] = [.receiveHead, .send(Answer.small), .receiveHead, .close]
        let server = try ScriptedServer.start(closing, [.receiveHead, .close])
        try await EngineStage.play { stage in
            _ = try await stage.end(server.url())
            let second = try await stage.end(server.url())
            #expect(second.code == .networkConnectionLost)
            let heads = server.events.events.count { if case .head = $0 { true } else { false } }
            #expect(heads == 3)
        }
    }

    @Test("a peer that answers nothing loses its idle connections at the first time-out")
    func silent() async throws {
        let keeping: [ScriptedServer.Action] = [
            .receiveHead, .wait(for: "both"), .send(Answer.small), .receiveHead, .hold,
        ]
        let server = try ScriptedServer.start(keeping, keeping, [.receiveHead, .send(Answer.small), .hold])
        try await EngineStage.play { stage in
            let two = [stage.transfer(server.url()), stage.transfer(server.url())]
            for transfer in two { transfer.start() }
            for number in 0..<2 {
                _ = try await server.events.first { if case .head(number, _) = $0 { true } else { false } }
            }
            server.signal("both")
            for transfer in two { try await transfer.end() }
            let timedOut = try await stage.end(server.url()) { $0.idleTimeout = 0.05 }
            #expect(timedOut.code == .timedOut)
            let next = try await stage.end(server.url())
            #expect(next.code == nil && next.record.end?.report.isReusedConnection == false)
        }
    }
}
