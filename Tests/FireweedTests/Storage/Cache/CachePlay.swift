// Plays a case against the whole stack: a session, a store, and a raw-socket origin.

import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

/// A clock that stands still until the test advances it.
final class CacheTestClock: Sendable {
    private let date: Mutex<Date>

    init(_ date: Date = CacheCase.start) {
        self.date = Mutex(date)
    }

    var now: Date { date.withLock { $0 } }

    func advance(by seconds: TimeInterval) {
        date.withLock { $0 += seconds }
    }
}

/// The stores that every case is played with.
enum StoreKind: String, CaseIterable, Sendable {
    case urlCache, sqlite, asynchronous
}

/// One session with its store and its clock, and the origin that it talks to.
struct CachePlay {
    let clock = CacheTestClock()
    let session: Session
    let server: ScriptedServer
    private let folder: TemporaryFolder

    init(
        _ answers: [Answer], store kind: StoreKind = .sqlite, handler: (any CachedResponseHandler)? = nil,
        eventMonitors: [any EventMonitor] = [], configure: (URLSessionConfiguration) -> Void = { _ in }
    ) throws {
        folder = try TemporaryFolder()
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.urlCache = nil
        configuration.timeoutIntervalForRequest = TimeInterval(TestTimeouts.seconds)
        var store: (any ResponseStore)?
        var asyncStore: MemoryAsyncStore?
        switch kind {
        case .urlCache: configuration.urlCache = URLCache(memoryCapacity: 4 << 20, diskCapacity: 0, diskPath: nil)
        case .asynchronous: asyncStore = MemoryAsyncStore()
        case .sqlite: store = try SQLiteResponseStore(url: folder.file("cache.sqlite"))
        }
        configure(configuration)
        session = CacheClock.$now.withValue({ [clock] in clock.now }) {
            Session(
                configuration: configuration, cachedResponseHandler: handler, eventMonitors: eventMonitors,
                options: SessionOptions(responseStore: store, asyncResponseStore: asyncStore))
        }
        let scripts = answers.map { [ScriptedServer.Action.receiveHead, .send($0.text), .close] }
        let none = Answer(599, [], "the origin was asked once too often")
        server = try ScriptedServer.start(scripts: scripts + [[.receiveHead, .send(none.text), .close]])
    }

    /// The heads that the origin has seen, in order.
    var heads: [String] {
        server.events.events.compactMap { if case .head(_, let text) = $0 { text } else { nil } }
    }

    func request(_ ask: Ask) -> DataRequest {
        var request = URLRequest(url: server.url(ask.path))
        request.httpMethod = ask.method
        request.cachePolicy = ask.policy
        for (name, value) in ask.fields { request.setValue(value, forHTTPHeaderField: name) }
        return session.request(request)
    }

    func response(_ ask: Ask) async -> DataResponse<String, AFError> {
        await request(ask).serializingString(emptyResponseCodes: Set(100..<600)).response
    }

    /// What came of an ask.
    func outcome(_ ask: Ask) async -> (outcome: Ask.Outcome, response: HTTPURLResponse?) {
        let end = ContinuousClock.now + TestTimeouts.limit
        while true {
            let response = await response(ask)
            let found: Ask.Outcome
            if let code = response.error?.urlErrorCode {
                found = .failure(code)
            } else {
                found = .answer(
                    response.metrics?.responseSource ?? .network, status: response.response?.statusCode ?? 0,
                    content: response.value ?? "")
            }
            guard ask.isEventual, found != ask.outcome, ContinuousClock.now < end else {
                return (found, response.response)
            }
            await Task.yield()
        }
    }

    /// Asks one thing after the other and compares.
    func perform(_ asks: [Ask], _ rule: Comment) async {
        for (number, ask) in asks.enumerated() {
            clock.advance(by: ask.after)
            let before = heads.count
            let (outcome, response) = await outcome(ask)
            #expect(outcome == ask.outcome, "\(rule), ask \(number + 1)")
            for (name, value) in ask.shows {
                #expect(response?.headers.value(for: name) == value, "\(rule), ask \(number + 1): \(name)")
            }
            let sent = heads.dropFirst(before).joined().lowercased()
            for field in ask.sends {
                #expect(
                    sent.contains("\r\n\(field.lowercased())\r\n"), "\(rule), ask \(number + 1): \(field) in \(sent)")
            }
            for name in ask.omits {
                #expect(!sent.contains("\r\n\(name.lowercased()):"), "\(rule), ask \(number + 1): \(name) in \(sent)")
            }
        }
    }
}
