// Requests with a limiter and a vault, while something is wrong with the server.

import Fireweed
import FireweedFleet
import FireweedTesting
import FixtureServer
import Foundation
import Testing

private struct Token: AuthenticationCredential, Codable, Sendable, Equatable {
    let number: Int
    var requiresRefresh: Bool { false }
}

@Suite("Troubles of the server", .timeLimit(.minutes(TestTimeouts.minutes)))
struct TroubleTests {
    enum Trouble: CaseIterable {
        /// The process is stopped.
        case suspended
        /// The server performs a slow command.
        case asleep
        /// Every connection is closed again and again.
        case killed
        /// The server has no memory for what is to be stored.
        case full
        case loading
        /// The key is on another server of a cluster.
        case moved

        /// What a server of a script answers to everything.
        var answer: String? {
            switch self {
            case .loading: "-LOADING Redis is loading the dataset in memory\r\n"
            case .moved: "-MOVED 3999 127.0.0.1:6381\r\n"
            case .suspended, .asleep, .killed, .full: nil
            }
        }
    }

    /// A server with a trouble, until `end()`.
    private final class Subject: Sendable {
        let url: String
        private let trouble: Trouble
        private let real: RedisServer
        private let scripted: ScriptedServer?
        private let work: Task<Void, any Error>?

        init(_ trouble: Trouble) async throws {
            self.trouble = trouble
            let real = try RedisServer(trouble == .full ? ["--maxmemory", "1"] : [])
            self.real = real
            let watch = try Fleet(url: real.url, configuration: .patient)
            try await watch.command("PING")
            let hello = ScriptedServer.Action.receive(byteCount: RESPArgument.encode(["HELLO", "3"]).count)
            scripted = try trouble.answer.map { answer in
                try ScriptedServer.start(scripts: [
                    [hello, .send("%0\r\n"), .receive(byteCount: 1), .send(answer), .close]
                ])
            }
            url = scripted.map { "redis://127.0.0.1:\($0.port)" } ?? real.url
            work =
                switch trouble {
                case .asleep: Task { try await watch.command("DEBUG", "SLEEP", "1") }
                case .killed:
                    Task {
                        while !Task.isCancelled {
                            try await watch.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
                        }
                    }
                case .suspended, .full, .loading, .moved: nil
                }
            if trouble == .suspended { real.suspend() }
        }

        /// Ends the trouble; false where it cannot be ended.
        func end() async throws -> Bool {
            work?.cancel()
            switch trouble {
            case .suspended: real.resume()
            case .full:
                try await Fleet(url: real.url, configuration: .patient).command("CONFIG", "SET", "maxmemory", "0")
            case .asleep, .killed: break
            case .loading, .moved: return false
            }
            return true
        }
    }

    @Test("requests are sent, a token is refreshed once, and the server is used again", arguments: Trouble.allCases)
    func requests(trouble: Trouble) async throws {
        let subject = try await Subject(trouble)
        let events = FleetEvents()
        let fleet = try Fleet(url: subject.url, configuration: events.configuration(deadline: .milliseconds(100)))
        let limiter = fleet.rateLimiter(RateLimit(1_000_000, burst: 1000))
        let session = Session.stubbed(interceptor: limiter) { Stub.any().reply(.text("ok")) }
        for _ in 0..<5 {
            let error = await session.request("https://api.example.com/").serializingData().response.error
            #expect(error == nil)
        }
        var options = CredentialVault<Token>.Options()
        options.whenUnreachable = .alone
        let vault = try fleet.credentialVault(
            of: Token.self, name: "api", key: Data(repeating: 1, count: 32), options: options)
        let count = Counter()
        let tokens = try await withThrowingTaskGroup(of: Token.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await vault.refreshed(Token(number: 1)) { Token(number: $0.number + count.increment()) }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens == Array(repeating: Token(number: 2), count: 8))
        #expect(count.value == 1)
        guard try await subject.end() else { return }
        // The vault stores the token when the server is back.
        while (try? await vault.credential()) != Token(number: 2) { await Task.yield() }
        #expect(!fleet.isDegraded)
        // A refusal is over when a refused command succeeds, a second later.
        while events.log.events.contains(.degraded), events.log.events.last != .recovered {
            _ = try? await vault.credential()
        }
    }
}
