import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Responses that nobody asked for", .timeLimit(.minutes(TestTimeouts.minutes)))
struct UnaskedResponseTests {
    private static let injected = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong"
    private static let right = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright"
    private static let page = 1024

    /// A response whose head and content have so many bytes.
    private static func response(byteCount: Int) -> String {
        var digits = 1
        while true {
            let head = "HTTP/1.1 200 OK\r\nContent-Length: "
            let length = byteCount - head.utf8.count - digits - 4
            if String(length).count == digits {
                return head + "\(length)\r\n\r\n" + String(repeating: "a", count: length)
            }
            digits += 1
        }
    }

    /// A server that sends the first bytes of a second response with the first one, and the rest when it is asked.
    private func server(answering byteCount: Int, early: Int) throws -> ScriptedServer {
        let rest = early == 0 ? Self.right : String(Self.injected.dropFirst(early))
        return try ScriptedServer.start(
            [
                .receiveHead, .send(Self.response(byteCount: byteCount) + Self.injected.prefix(early)), .receiveHead,
                .send(rest), .hold,
            ],
            [.receiveHead, .send(Self.right), .hold])
    }

    /// Asks twice; the second answer is the right one.
    private func play(_ url: URL, on stage: EngineStage, _ note: String) async throws {
        let first = try await stage.end(url)
        #expect(first.code == nil, "\(note): \(first.failureText)")
        let second = try await stage.end(url)
        #expect(second.record.content == Data("right".utf8), "\(note): \(second.failureText)")
    }

    /// Around the size of the reads: `receiveBufferByteCount` is the page.
    private static let byteCounts = [page - 1, page, page + 1, 2 * page, 3 * page - 7]

    @Test("are never the answer to the next request, wherever they are cut", arguments: byteCounts)
    func everyByte(byteCount: Int) async throws {
        for early in 0...Self.injected.utf8.count {
            let server = try server(answering: byteCount, early: early)
            try await EngineStage.play({ $0.receiveBufferByteCount = Self.page }) { stage in
                try await play(server.url(), on: stage, "\(early) bytes early")
                let count = server.events.events.count { if case .accepted = $0 { true } else { false } }
                #expect(count == (early == 0 ? 1 : 2), "\(early) bytes early")
            }
        }
    }

    @Test("are never the answer to the next request over TLS", arguments: byteCounts)
    func everyByteOverTLS(byteCount: Int) async throws {
        let steps = [0, 1, 2, Self.injected.utf8.count - 1, Self.injected.utf8.count]
        let servers = try steps.map { try server(answering: byteCount, early: $0) }
        let relay = try SecureRelay(TLSStage.chain, to: servers.map(\.port))
        for (early, server) in zip(steps, servers) {
            try await TLSStage.play({ $0.receiveBufferByteCount = Self.page }) { stage in
                try await play(relay.url(for: server.url()), on: stage, "\(early) bytes early")
            }
        }
    }

    @Test("that follow head and content of exactly the usual buffer are not taken")
    func usualBuffer() async throws {
        let server = try server(answering: 64 * 1024, early: Self.injected.utf8.count)
        try await EngineStage.play { stage in try await play(server.url(), on: stage, "whole") }
    }

    @Test("are not the response to an answered challenge")
    func challenge() async throws {
        let challenge = Self.response(byteCount: Self.page).replacingOccurrences(
            of: "HTTP/1.1 200 OK\r\n", with: "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\n")
        let padded = challenge.dropLast(challenge.utf8.count - Self.page)
        let text = padded.replacingOccurrences(
            of: #"Content-Length: \d+"#, with: "Content-Length: \(Self.contentByteCount(of: String(padded)))",
            options: .regularExpression)
        let server = try ScriptedServer.start(
            [.receiveHead, .send(text + Self.injected), .receiveHead, .hold],
            [.receiveHead, .send(Self.right), .hold])
        try await EngineStage.play({ $0.receiveBufferByteCount = Self.page }) { stage in
            let transfer = try await stage.end(server.url()) {
                $0.credentials = .init(user: "u", password: "p", schemes: [.basic, .digest])
            }
            #expect(transfer.record.content == Data("right".utf8), "\(transfer.failureText)")
        }
    }

    private static func contentByteCount(of message: String) -> Int {
        message.range(of: "\r\n\r\n").map { message[$0.upperBound...].utf8.count } ?? 0
    }
}
