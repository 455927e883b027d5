// The table of time-outs in the documentation, held to the code.

import FixtureServer
import Foundation
import Synchronization
import Testing

@testable import Fireweed
@testable import FireweedTransport

@Suite("Documented time-outs")
struct TimeoutTableTests {
    /// What bounds a time, and its default.
    private struct Row: Equatable, CustomStringConvertible {
        let what: String
        let value: String
        var description: String { "\(what): \(value)" }
    }

    // MARK: The code

    private static func text(_ duration: Duration?) -> String {
        guard let duration else { return "none" }
        let (seconds, attoseconds) = duration.components
        guard attoseconds == 0 else { return "\(Int(duration / .milliseconds(1))) ms" }
        return seconds % 86_400 == 0 && seconds > 0 ? "\(seconds / 86_400) days" : "\(seconds) s"
    }

    private static func text(_ seconds: TimeInterval?) -> String { text(seconds.map { Duration.seconds($0) }) }

    private static func rows() throws -> [Row] {
        try sessionRows() + requestRows() + retryRows() + connectionRows() + sharedRows()
    }

    private static func sessionRows() throws -> [Row] {
        let configuration = URLSessionConfiguration.af.default
        configuration.timeoutIntervalForRequest = 7
        let settings = SessionSettings(configuration, options: TransportOptions(), maximumRedirectCount: nil)
        let request = URLRequest(url: try #require(URL(string: "https://h.example/")))
        let isInherited = settings.idleTimeout(of: request) == 7
        let fresh = URLSessionConfiguration.af.default
        return [
            Row(what: "`timeoutIntervalForRequest` of the configuration", value: text(fresh.timeoutIntervalForRequest)),
            Row(
                what: "`timeoutInterval` of a `URLRequest`, unless it is \(Int(request.timeoutInterval))",
                value: isInherited ? "the configuration's" : text(settings.idleTimeout(of: request))),
            Row(
                what: "`timeoutIntervalForResource` of the configuration",
                value: text(fresh.timeoutIntervalForResource)),
            Row(what: "``TransportOptions/connectTimeout``", value: text(TransportOptions().connectTimeout)),
        ]
    }

    private static func requestRows() -> [Row] {
        let session = Session(startRequestsImmediately: false, eventMonitors: [])
        let request = session.request("https://h.example/")
        let deadline = request.mutable.withLock { $0.extras?.deadline?.duration }
        return [Row(what: "``Request/deadline(_:)``", value: text(deadline))]
    }

    private static func retryRows() -> [Row] {
        let options = RetryOptions()
        let offline: TimeInterval? =
            if case .seconds(let count) = OfflineRetrier().maximumWait { Double(count) } else { nil }
        let links = Session(startRequestsImmediately: false, eventMonitors: []).core.links
        let waits = links.indices.contains { links[$0] is ConnectivityLink }
        return [
            Row(what: "``RetryOptions/deadline``", value: text(options.deadline)),
            Row(what: "``RetryOptions/maximumDelay``", value: text(options.maximumDelay)),
            Row(
                what: "`retryAfter: .obey(upTo:)`", value: options.retryAfter == .ignore ? "ignored" : "obeyed"),
            Row(what: "``OfflineRetrier/maximumWait``", value: text(offline)),
            Row(what: "`waitsForConnectivity` of `SessionOptions`", value: waits ? "on" : "off"),
        ]
    }

    private static func connectionRows() -> [Row] {
        let reconnection = ServerSentEvent.Reconnection.automatic
        return [
            Row(what: "`timeout` of ``RevocationTrustEvaluator``", value: text(RevocationTrustEvaluator().timeout)),
            Row(
                what: "`delay`, `maximumDelay` of ``ServerSentEvent/Reconnection``",
                value: "\(text(reconnection.delay)), \(text(reconnection.maximumDelay))"),
            Row(
                what: "`pingInterval` with `requiresPongs`",
                value: text(WebSocketRequest.Configuration.default.pingInterval)),
            Row(
                what: "``TransportOptions/maximumConnectionIdleTime``",
                value: text(TransportOptions().maximumConnectionIdleTime)),
        ]
    }

    private static func sharedRows() -> [Row] {
        let store = EmptyStore()
        let window = AuthenticationInterceptor<TokenAuthenticator>.RefreshWindow()
        return [
            Row(what: "``RateLimiter/maximumWait``", value: text(RateLimiter(nil).maximumWait)),
            Row(what: "``AsyncResponseStore/timeout``", value: text(store.timeout)),
            Row(
                what: "``AsyncResponseStore/fetchTimeout``",
                value: store.fetchTimeout == .zero ? "0: no wait" : text(store.fetchTimeout)),
            Row(
                what: "``CredentialVault/Options/maximumWait``",
                value: text(CredentialVault<StoredToken>.Options().maximumWait)),
            // `AuthenticationInterceptorTests` has a test of an interceptor with the default window.
            Row(
                what: "`AuthenticationInterceptor.RefreshWindow`",
                value: "\(window.maximumAttempts) in \(text(window.interval))"),
        ]
    }

    // MARK: The documentation

    /// The rows of the article's first table, under its two lines of head.
    private static func documentedRows() throws -> [Row] {
        let file = Repository.root.appending(path: "Sources/Fireweed/Fireweed.docc/Articles/Timeouts.md")
        let lines = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
        let table = lines.drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }.map { line in
            line.components(separatedBy: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let head = try #require(table.first)
        let (what, value) = (try #require(head.firstIndex(of: "What")), try #require(head.firstIndex(of: "Default")))
        return table.dropFirst(2).map { Row(what: $0[what], value: $0[value]) }
    }

    @Test("the table in the documentation has the defaults of the code, and no others")
    func table() throws {
        let (documented, found) = (try Self.documentedRows(), try Self.rows())
        #expect(documented == found)
    }
}

private struct StoredToken: AuthenticationCredential, Codable, Sendable {
    let requiresRefresh: Bool
}

/// A store that sets no times, and stores nothing.
private final class EmptyStore: AsyncResponseStore {
    let maximumEntryByteCount = 0

    func lookUp(
        _ key: String, claimsFetch: Bool, choosing choose: @escaping @Sendable ([StoredHead]) -> Int?
    ) async throws -> ResponseLookup { throw CancellationError() }

    func store(_ response: StoredResponse, for key: String, revision: UInt64?) async throws {}
    func updateHead(_ head: StoredHead, for key: String) async throws {}
    func removeResponses(for key: String) async throws {}
    func removeAllResponses() async throws {}
}
