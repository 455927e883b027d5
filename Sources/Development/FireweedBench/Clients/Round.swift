// One round of one client, in a separate process.

import CBareLoop
import Fireweed
import FireweedMetrics
import FireweedTesting
import FireweedTracing
import FixtureServer
import Foundation
import FoundationNetworking

#if DistributedTracing
import Tracing
#endif

/// The value that the small JSON decodes into.
struct Small: Decodable, Sendable {
    let id: Int
    let name: String
    let tags: [String]
    let ok: Bool
}

/// A round failed.
struct RoundError: Error {
    let text: String
}

/// Sends the requests of a scenario with one client, and measures them.
struct Round {
    let scenario: Scenario
    let client: Client
    let url: URL

    func run() async throws -> Measurement {
        let url = scenario.server == .echo ? url : url.appendingPathComponent(scenario.path)
        if client == .fireweedSQLite { return try await cached(url) }
        if client == .otherCookies || client == .ownCookies { return try await withCookies(url) }
        return try await Measurement.measure(count: scenario.count, ofChildren: scenario.name == "cold-start") {
            try await work(url)
        }
    }

    private func work(_ url: URL) async throws {
        switch client {
        case .libcurl: try bare(url, connections: scenario.connections)
        case .libcurlUnqueued: try bare(url, connections: scenario.window)
        case .epollLoop: try epollLoop(url)
        case .urlSession: try await urlSession(url)
        case .fireweedData, .fireweedMetrics, .fireweedTracing, .oneCore, .oneLoop, .twoLoops:
            try await data(url, from: session())
        case .fireweedStub: try await data(url, from: stubbed())
        case .fireweedExecutor:
            let session = session()
            try await withTaskExecutorPreference(session.executor) { try await data(url, from: session) }
        case .fireweedDecodable:
            let session = session()
            try await inParallel {
                _ = try await session.request(url).validate().serializingDecodable(Small.self).value
            }
        case .fireweedClosure: try await closures(url)
        case .libcurlFile, .fireweedStream, .fireweedFile: try await BodyRound(client: client).run(url)
        case .fireweedWebSocket: try await webSocket(url)
        case .pythonWebSockets, .goNetHTTP: throw RoundError(text: "\(client.rawValue) measures itself")
        case .fireweedSQLite, .otherCookies, .ownCookies: break
        case .foundationJSON, .fireweedEncode: try FormRound(client: client).run(count: scenario.count)
        case .libcurlForm, .fireweedMultipart, .libcurlUpload, .fireweedUploadFile:
            try await UploadRound(client: client, partCount: scenario.name == "multipart-2g" ? 2 : 1).run(url)
        case .curlCommand, .fireweedCommand: try CommandRound(client: client).run(url, count: scenario.count)
        }
    }

    private func bare(_ url: URL, connections: Int) throws {
        let failed = fw_bare_loop(
            url.absoluteString, Int32(scenario.count), Int32(scenario.window), Int32(connections),
            scenario.name == "body-1g" ? -2 : -1)
        guard failed == 0 else { throw RoundError(text: "\(failed) requests of libcurl failed") }
    }

    private func epollLoop(_ url: URL) throws {
        guard let port = url.port else { throw RoundError(text: "\(url) has no port") }
        let failed = fw_epoll_loop(
            Int32(port), url.path, Int32(NginxServer.smallContent.count), Int32(scenario.count),
            Int32(scenario.connections))
        guard failed == 0 else { throw RoundError(text: "a request of the epoll loop failed") }
    }

    /// Makes a session with default options, except those that the scenario or the client needs.
    private func session() -> Session {
        var options = TransportOptions()
        if let path = ProcessInfo.processInfo.environment[Self.authorityVariable] {
            options.certificateAuthorities = .file(URL(fileURLWithPath: path))
        }
        if client == .twoLoops { options.eventLoops = 2 }
        let configuration = URLSessionConfiguration.af.default
        configuration.httpMaximumConnectionsPerHost = scenario.connections
        return Session(configuration: configuration, transportOptions: options, options: observed())
    }

    /// The session options of the client: with metrics, with tracing, or the defaults.
    private func observed() -> SessionOptions {
        let options = SessionOptions()
        #if SwiftMetrics
        if client == .fireweedMetrics { return options.measured() }
        #endif
        #if DistributedTracing
        if client == .fireweedTracing { return options.traced(TracingOptions(tracer: NoOpTracer())) }
        #endif
        precondition(![.fireweedMetrics, .fireweedTracing].contains(client), "this build has no bridges")
        return options
    }

    /// Makes a session in which a stub answers with a small document, similar to nginx's `/small`.
    private func stubbed() -> Session {
        .stubbed {
            Stub.get(URLPattern(scenario.path)).reply(
                .json(["id": 1, "name": "Fireweed", "tags": ["swift", "linux"], "ok": true]))
        }
    }

    /// The environment variable with the path of the certificate authority that issued the servers' certificates.
    static let authorityVariable = "FIREWEED_BENCH_AUTHORITY"

    private func data(_ url: URL, from session: Session) async throws {
        try await inParallel { _ = try await session.request(url).serializingData().value }
    }

    /// Runs `one` for every request of the scenario, in `scenario.window` parallel tasks with equal shares.
    private func inParallel(_ one: @escaping @Sendable () async throws -> Void) async throws {
        let (window, share) = (scenario.window, max(1, scenario.count / scenario.window))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<window {
                group.addTask { for _ in 0..<share { try await one() } }
            }
            try await group.waitForAll()
        }
    }

    /// Measures only cache hits: a first request stores the response before the clock starts.
    private func cached(_ url: URL) async throws -> Measurement {
        let folder = try TemporaryFolder()
        let session = Session(
            options: SessionOptions(responseStore: try SQLiteResponseStore(url: folder.file("responses.sqlite"))))
        _ = try await session.request(url).serializingData().value
        let measurement = try await Measurement.measure(count: scenario.count) {
            try await inParallel { _ = try await session.request(url).serializingData().value }
        }
        let last = await session.request(url).serializingData().response
        guard last.metrics?.responseSource == .cache else { throw RoundError(text: "the cache did not answer") }
        return measurement
    }

    /// Measures requests of a session whose cookie storage is filled before the clock starts.
    private func withCookies(_ url: URL) async throws -> Measurement {
        let session = session()
        guard let storage = session.sessionConfiguration.httpCookieStorage, let host = url.host else {
            throw RoundError(text: "there is nowhere to keep cookies")
        }
        let (own, others) = client == .ownCookies ? (50, 1_000) : (0, 10_000)
        let hosts = Array(repeating: host, count: own) + (0..<others).map { "host-\($0).test" }
        for (number, host) in hosts.enumerated() {
            let cookie = HTTPCookie(properties: [
                .name: "c\(number)", .value: "value", .domain: host, .path: "/",
            ])
            if let cookie { storage.setCookie(cookie) }
        }
        return try await Measurement.measure(count: scenario.count) { try await data(url, from: session) }
    }

    private func urlSession(_ url: URL) async throws {
        let session = URLSession(configuration: .default)
        try await inParallel {
            let (data, _) = try await session.data(from: url)
            guard !data.isEmpty else { throw RoundError(text: "URLSession got no content") }
        }
    }

    /// Sends each next request from the completion handler of the previous one, as code without `async` does.
    private func closures(_ url: URL) async throws {
        let session = session()
        let queue = DispatchQueue(label: "bench")
        let share = max(1, scenario.count / scenario.window)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<scenario.window {
                group.addTask {
                    try await withCheckedThrowingContinuation { continuation in
                        ClosureChain(session: session, url: url, queue: queue, continuation: continuation).send(share)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

/// A sequence of requests, each sent by the completion handler of the previous request.
private struct ClosureChain: Sendable {
    let session: Session
    let url: URL
    let queue: DispatchQueue
    let continuation: CheckedContinuation<Void, any Error>

    func send(_ count: Int) {
        session.request(url).validate().responseDecodable(of: Small.self, queue: queue) { response in
            switch response.result {
            case .success where count > 1: send(count - 1)
            case .success: continuation.resume()
            case .failure(let error): continuation.resume(throwing: error)
            }
        }
    }
}
