import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Content codings on the engine", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CodingTests {
    private static let content = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) })

    private func server(coding: String, _ body: Data, rest: [ScriptedServer.Action] = [.hold]) throws -> ScriptedServer
    {
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n"
        return try ScriptedServer.start([.receiveHead, .send(head), .sendData(body)] + rest)
    }

    @Test(
        "a consumer that pauses at every piece gets the content whole",
        arguments: [Flow.Level.receivingPaused, .suspended])
    func paused(level: Flow.Level) async throws {
        let coded = try #require(CodingEndpoints.gzip(Self.content))
        let server = try server(
            coding: "gzip", coded, rest: [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), .hold])
        try await EngineStage.play { stage in
            let transfer = stage.transfer(
                server.url(), afterContent: { _, record in Flow(level, revision: UInt64(record.content.count) * 2) })
            transfer.start()
            // Counted when it is let run: the next piece may be there at once.
            var count = 0
            while count < Self.content.count {
                _ = try await transfer.recorder.calls.first { [count] call in
                    if case .content(let sum) = call { sum > count } else { false }
                }
                count = transfer.record.content.count
                let pieces = transfer.recorder.calls.events.count { if case .content = $0 { true } else { false } }
                #expect(pieces == transfer.recorder.calls.events.count - 1)
                transfer.setFlow(.running, revision: UInt64(count) * 2 + 1)
            }
            #expect(try await transfer.end().failure == nil)
            #expect(transfer.record.content == Self.content)
            let next = try await stage.end(server.url())
            #expect(next.record.end?.report.isReusedConnection == true)
        }
    }

    @Test("a coding that ends in the middle is an error, and one that is not known reaches the user as it came")
    func faults() async throws {
        let coded = try #require(CodingEndpoints.gzip(Self.content))
        let cut = try server(coding: "gzip", coded.dropLast(20))
        let unknown = try server(coding: "exi", Data("<x/>".utf8))
        try await EngineStage.play { stage in
            let first = try await stage.end(cut.url())
            #expect(first.code == .cannotDecodeContentData)
            let second = try await stage.end(unknown.url())
            #expect(second.code == nil && second.record.content == Data("<x/>".utf8))
        }
    }

    @Test("the limits on content hold for what comes out of a coding")
    func limits() async throws {
        let server = try server(coding: "gzip", try #require(CodingEndpoints.gzip(Self.content)))
        try await EngineStage.play({ $0.maximumBodyByteCount = 100_000 }) { stage in
            let transfer = try await stage.end(server.url())
            #expect(transfer.code == .dataLengthExceedsMaximum && transfer.record.content.count <= 100_000)
        }
    }

    /// A server of content that takes hours to decode and stands for nothing.
    private func endless(overHTTP2: Bool) throws -> ScriptedServer {
        let body = try NestedGzip.nothing(layers: 4)
        let codings = "gzip, gzip, gzip, gzip"
        guard overHTTP2 else { return try server(coding: codings, Data(body)) }
        var frames = Frames.frame(Frames.settings)
        frames += Frames.head(Frames.ok + Frames.field("content-encoding", codings))
        for start in stride(from: 0, to: body.count, by: 16_000) {
            frames += Frames.frame(Frames.data, stream: 1, Array(body[start..<min(start + 16_000, body.count)]))
        }
        // The preface has the form of a head and what follows one.
        return try ScriptedServer.start([.receiveHead, .receiveHead, .sendData(Data(frames)), .hold])
    }

    private static func withoutLimits(overHTTP2: Bool) -> (inout TransportOptions) -> Void {
        { options in
            options.maximumContentCodingCount = 4
            options.maximumExpansionRatio = nil
            if overHTTP2 { options.httpVersion = .http2 }
        }
    }

    @Test(
        "content that takes hours to decode stops no other session, and a time-out and cancel() end it",
        arguments: [false, true])
    func endlessDecoding(overHTTP2: Bool) async throws {
        let server = try endless(overHTTP2: overHTTP2)
        let other = try ScriptedServer.start(
            Array(repeating: [ScriptedServer.Action.receiveHead, .send(Answer.small)], count: 10).flatMap(\.self) + [
                .hold
            ])
        try await EngineStage.play(Self.withoutLimits(overHTTP2: overHTTP2)) { stage in
            let transfer = stage.transfer(server.url())
            let limited = stage.transfer(server.url()) { $0.idleTimeout = 0.1 }
            transfer.start()
            limited.start()
            try await transfer.head()
            try await EngineStage.play { stage in
                for _ in 0..<10 {
                    let answered = try await stage.end(other.url())
                    #expect(answered.code == nil)
                }
            }
            try await limited.end()
            #expect(limited.code == .timedOut)
            #expect(transfer.record.end == nil)
            transfer.cancel()
            let end = try await transfer.end()
            #expect(end.isCancelled && transfer.record.content.isEmpty)
        }
    }

    @Test("a consumer that pauses while a turn is over stays paused")
    func pausedBetweenTurns() async throws {
        let content = Data(count: 8 << 20)
        let server = try server(coding: "gzip", try #require(CodingEndpoints.gzip(content)))
        let other = try ScriptedServer.start(
            Array(repeating: [ScriptedServer.Action.receiveHead, .send(Answer.small)], count: 10).flatMap(\.self) + [
                .hold
            ])
        try await EngineStage.play { stage in
            let transfer = stage.transfer(
                server.url(),
                afterContent: { _, record in
                    record.content.count > 1 << 20 ? Flow(.receivingPaused, revision: 1) : .undecided
                })
            transfer.start()
            _ = try await transfer.recorder.calls.first { call in
                if case .content(let sum) = call { sum > 1 << 20 } else { false }
            }
            for _ in 0..<10 {
                let answered = try await stage.end(other.url())
                #expect(answered.code == nil)
            }
            #expect(transfer.record.content.count <= 1 << 20 + 64 << 10)
            transfer.setFlow(.running, revision: 2)
            _ = try await transfer.recorder.calls.first { call in
                if case .content(let sum) = call { sum > 2 << 20 } else { false }
            }
            transfer.cancel()
        }
    }
}
