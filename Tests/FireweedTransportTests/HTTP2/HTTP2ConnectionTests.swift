import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("The engine over HTTP/2", .timeLimit(.minutes(TestTimeouts.minutes)))
struct HTTP2ConnectionTests {
    private static let http2: @Sendable (inout TransportOptions) -> Void = { options in
        options.httpVersion = .http2
        options.maximumFramingByteCount = 65_536
    }

    /// What a server does once the request has come, and whether a response comes of it.
    static let acts: [(name: String, isAnswered: Bool)] = [
        ("answer", true), ("goaway then answer", true), ("goaway", false), ("goaway refusing", false),
        ("rst flood", false), ("rst at once", false), ("rst in content", false), ("continuation flood", false),
        ("empty continuation flood", false), ("ping flood", false), ("settings flood", false), ("window flood", false),
        ("window overflow", false), ("priority flood", false), ("empty data flood", false),
        ("unknown frame flood", false), ("interim flood", false), ("huge fields", false), ("broken compression", false),
        ("push", false), ("frame too large", false), ("data before headers", false), ("data on stream 0", false),
        ("no status", false), ("length too long", false), ("length too short", false), ("upper-case field", false),
        ("http/1 instead", false), ("close", false), ("refuse all, no answer", false),
    ]

    @Test("each act of a hostile server ends with the response or an error", arguments: acts)
    func act(name: String, isAnswered: Bool) async throws {
        let peer = try SecurePeer(plainHTTP2: name)
        try await EngineStage.play(Self.http2) { stage in
            let transfer = try await stage.end(peer.url())
            #expect((transfer.code == nil) == isAnswered, "\(transfer.failureText)")
            #expect(!isAnswered || transfer.record.content == Data("hello".utf8))
        }
    }

    @Test("a connection on which nothing is answered any more carries no message after the first time-out")
    func silence() async throws {
        let peer = try SecurePeer(plainHTTP2: "the first of a connection, else no answer")
        try await EngineStage.play(Self.http2) { stage in
            #expect(try await stage.end(peer.url()).code == nil)
            let second = try await stage.end(peer.url()) { $0.idleTimeout = 0.05 }
            #expect(second.code == .timedOut && second.record.end?.report.isReusedConnection == true)
            let third = try await stage.end(peer.url())
            #expect(third.code == nil && third.record.end?.report.isReusedConnection == false)
        }
    }

    @Test("messages at the same time go over one connection")
    func multiplexing() async throws {
        let nginx = try NginxServer(speaksPlainHTTP2: true)
        let url = try #require(nginx.plainHTTP2URL).appendingPathComponent("small")
        try await EngineStage.play(Self.http2) { stage in
            let transfers = (0..<50).map { _ in stage.transfer(url) }
            for transfer in transfers { transfer.start() }
            for transfer in transfers {
                let end = try await transfer.end()
                #expect(end.failure == nil)
            }
            let ports = Set(transfers.compactMap { $0.record.end?.report.localEndpoint?.port })
            #expect(ports.count == 1)
            #expect(transfers.allSatisfy { $0.record.end?.report.protocolName == "h2" })
        }
    }

    @Test("the peer's limit on streams is kept, and then another connection is made")
    func limit() async throws {
        let peer = try SecurePeer(plainHTTP2: "limit 1, answer")
        for (connections, most) in [(1, 1), (3, 3)] {
            try await EngineStage.play(limit: connections, Self.http2) { stage in
                // The settings come before the limit is known.
                _ = try await stage.end(peer.url())
                let transfers = (0..<8).map { _ in stage.transfer(peer.url()) }
                for transfer in transfers { transfer.start() }
                for transfer in transfers {
                    let end = try await transfer.end()
                    #expect(end.failure == nil)
                }
                let ports = Set(transfers.compactMap { $0.record.end?.report.localEndpoint?.port })
                #expect(ports.count <= most)
            }
        }
    }

    @Test("a message that the server did not process is sent again, whatever its method")
    func unprocessed() async throws {
        for act in ["refuse the first, else answer", "not processed, no answer"] {
            let peer = try SecurePeer(plainHTTP2: act)
            try await EngineStage.play(Self.http2) { stage in
                if act == "not processed, no answer" { _ = try await stage.end(peer.url()) }
                let transfer = try await stage.end(peer.url()) { message in
                    message.method = "POST"
                    message.body = .data(Data("once".utf8))
                }
                #expect(
                    transfer.code == nil && transfer.record.end?.earlierReports.count == 1, "\(transfer.failureText)")
                #expect(transfer.record.end?.requestContent == .whole)
            }
        }
    }

    @Test("a message that no try gets processed fails after some")
    func refused() async throws {
        let peer = try SecurePeer(plainHTTP2: "refuse all, no answer")
        try await EngineStage.play(Self.http2) { stage in
            let transfer = try await stage.end(peer.url())
            #expect(transfer.code == .networkConnectionLost)
            let reports = try #require(transfer.record.end?.earlierReports)
            #expect(reports.count == ResendRule.refusalLimit - 1)
            // A pause after the second refusal, and a longer one after the third.
            let starts = reports.map(\.requestStart) + [transfer.record.end?.report.requestStart ?? 0]
            #expect(starts[2] - starts[1] >= 50_000 && starts[3] - starts[2] >= 200_000)
        }
    }

    @Test("a stream that the server refuses beside another one waits for that to end, on the same connection")
    func refusedBesideAnother() async throws {
        let peer = try SecurePeer(plainHTTP2: "one stream at a time, answer")
        try await EngineStage.play(Self.http2) { stage in
            let first = stage.transfer(peer.url())
            first.start()
            try await first.head()
            let second = stage.transfer(peer.url())
            second.start()
            try await peer.events.nth(2) { $0.hasPrefix("request") }
            first.cancel()
            try await second.end()
            #expect(second.code == nil && second.record.end?.earlierReports.count == 1, "\(second.failureText)")
            try await peer.events.nth(3) { $0.hasPrefix("request") }
            #expect(peer.events.events.count { $0.hasPrefix("request") } == 3)
        }
    }

    @Test("a connection that goes away carries no further message")
    func goingAway() async throws {
        let peer = try SecurePeer(plainHTTP2: "going away twice, answer")
        try await EngineStage.play(limit: 1, Self.http2) { stage in
            for _ in 0..<3 {
                let transfer = try await stage.end(peer.url()) { $0.method = "POST" }
                #expect(transfer.code == nil && transfer.record.end?.earlierReports.isEmpty == true)
                #expect(transfer.record.end?.report.isReusedConnection == false)
            }
        }
    }

    @Test(
        "a server that takes no streams does not stop the line",
        arguments: ["gate closed, answer", "close the gate, answer"])
    func gate(act: String) async throws {
        let peer = try SecurePeer(plainHTTP2: act)
        try await EngineStage.play(limit: 1, Self.http2) { stage in
            let transfers = (0..<4).map { _ in stage.transfer(peer.url()) }
            for transfer in transfers { transfer.start() }
            for transfer in transfers { try await transfer.end() }
            let last = try await stage.end(peer.url())
            #expect(last.code == nil || last.failureText.contains("MAX_CONCURRENT_STREAMS"))
        }
    }

    @Test("a stream that stands still does not stop the others")
    func standingStill() async throws {
        let nginx = try NginxServer(speaksPlainHTTP2: true)
        try Data(count: 8 << 20).write(to: nginx.documents.appendingPathComponent("large"))
        let url = try #require(nginx.plainHTTP2URL)
        try await EngineStage.play(Self.http2) { stage in
            let paused = (0..<4).map { _ in
                stage.transfer(
                    url.appendingPathComponent("large"), afterHead: { _, _ in Flow(.receivingPaused, revision: 1) })
            }
            for transfer in paused { transfer.start() }
            for transfer in paused { try await transfer.head() }
            let other = try await stage.end(url.appendingPathComponent("large"))
            #expect(other.code == nil && other.record.content.count == 8 << 20)
            for transfer in paused { transfer.setFlow(.running, revision: 2) }
            for transfer in paused {
                try await transfer.end()
                #expect(transfer.record.content.count == 8 << 20)
            }
        }
    }

    @Test(
        "a server that wants HTTP/1.1 gets the message again over HTTP/1.1, and no HTTP/2 after that (RFC 9113 §7)",
        arguments: ["reset for HTTP/1.1, no answer", "going away for HTTP/1.1, no answer"])
    func http1Required(act: String) async throws {
        let peer = try SecurePeer(TLSStage.chain, role: .http2(act))
        try await TLSStage.play { stage in
            for number in 1...3 {
                let transfer = try await stage.end(peer.url()) { message in
                    message.method = "POST"
                    message.body = .data(Data("once".utf8))
                }
                #expect(transfer.code == nil, "\(transfer.failureText)")
                #expect(transfer.record.end?.report.protocolName == "http/1.1")
                #expect(transfer.record.end?.earlierReports.count == (number == 1 ? 1 : 0))
            }
            // One over HTTP/2, and three over HTTP/1.1.
            try await peer.waits(for: 4, of: "request")
            #expect(peer.count("connected") == 2, "\(peer.events.events)")
        }
    }

    @Test("a PING leaves with a message on a connection that was quiet for long", arguments: [true, false])
    func ping(isQuiet: Bool) async throws {
        let peer = try SecurePeer(plainHTTP2: "answer")
        var parts = EngineParts()
        parts.quietTime = isQuiet ? 0 : 3_600_000_000_000
        try await EngineStage.play(parts: parts, Self.http2) { stage in
            for _ in 0..<3 { #expect(try await stage.end(peer.url()).code == nil) }
            try await peer.waits(for: 3, of: "request")
            if isQuiet { try await peer.waits(for: 1, of: "ping") }
            // The first message is not one of these.
            #expect(isQuiet ? peer.count("ping") <= 2 : peer.count("ping") == 0)
            #expect(peer.count("request 0") == 3)
        }
    }

    @Test("many messages at once on a quiet connection bring one PING")
    func pingOfMany() async throws {
        let peer = try SecurePeer(plainHTTP2: "answer")
        var parts = EngineParts()
        parts.quietTime = 0
        try await EngineStage.play(parts: parts, Self.http2) { stage in
            #expect(try await stage.end(peer.url()).code == nil)
            let transfers = (0..<20).map { _ in stage.transfer(peer.url()) }
            for transfer in transfers { transfer.start() }
            for transfer in transfers { #expect(try await transfer.end().failure == nil) }
            try await peer.waits(for: 21, of: "request")
            // An answer may come between two messages, and begins the quiet time again.
            #expect(peer.count("ping") < 20)
        }
    }

    @Test("a message that closes its connection is sent on a new one too")
    func closing() async throws {
        let nginx = try NginxServer(speaksPlainHTTP2: true)
        let url = try #require(nginx.plainHTTP2URL).appendingPathComponent("small")
        try await EngineStage.play(Self.http2) { stage in
            for _ in 0..<2 {
                let transfer = try await stage.end(url) {
                    $0.fields = FieldBlock([Field(name: "Connection", value: "close")])
                    $0.idleTimeout = 20
                }
                #expect(transfer.code == nil, "\(transfer.failureText)")
                #expect(transfer.record.end?.report.isReusedConnection == false)
            }
        }
    }

    @Test("a rest that is not wanted ends with its stream, and the connection stays")
    func discarded() async throws {
        let nginx = try NginxServer(speaksPlainHTTP2: true)
        try Data(count: 8 << 20).write(to: nginx.documents.appendingPathComponent("large"))
        let url = try #require(nginx.plainHTTP2URL).appendingPathComponent("large")
        try await EngineStage.play(Self.http2) { stage in
            let first = stage.transfer(
                url,
                afterHead: { transfer, _ in
                    transfer.discard()
                    return .undecided
                })
            first.start()
            #expect(try await first.end().failure == nil)
            #expect(first.record.end.map { $0.report.responseBodyByteCount < 8 << 20 } == true)
            let second = try await stage.end(url)
            #expect(second.code == nil && second.record.end?.report.isReusedConnection == true)
        }
    }

    @Test("cancelling one message leaves the others alone")
    func cancel() async throws {
        let peer = try SecurePeer(plainHTTP2: "no answer")
        try await EngineStage.play(Self.http2) { stage in
            let (first, second) = (stage.transfer(peer.url()), stage.transfer(peer.url()) { $0.idleTimeout = 60 })
            first.start()
            second.start()
            try await peer.waits(for: 2, of: "request")
            first.cancel()
            #expect(try await first.end().isCancelled)
            #expect(second.record.end == nil)
        }
    }

    @Test("so many cancels on one connection are too many for servers")
    func resetRate() {
        var rate = ResetRate()
        let verdicts = (0..<ResetRate.limit).map { _ in rate.note(at: 5) }
        #expect(verdicts.dropLast().allSatisfy { !$0 } && verdicts.last == true)
        let isLater = rate.note(at: 3_000_000_000)
        #expect(!isLater)
    }
}
