// One round of one client, in a process of its own.

import CBareLoop
import Fireweed
import FixtureServer
import Foundation

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

/// Does the work of a client.
struct Round {
    let scenario: Scenario
    let client: Client
    let url: URL

    /// As many connections for every client, as `URLSessionConfiguration` has them.
    private static let connections = 6

    func run() async throws -> Measurement {
        let url = scenario.isWebSocket ? url : url.appendingPathComponent(scenario.path)
        if client == .fireweedSQLite { return try await cached(url) }
        return try await Measurement.measure(count: scenario.count) {
            switch client {
            case .libcurl:
                let isBody = scenario.name == "body-1g"
                let failed = fw_bare_loop(
                    url.absoluteString, Int32(scenario.count), Int32(scenario.window), Int32(Self.connections),
                    isBody ? -2 : -1)
                guard failed == 0 else { throw RoundError(text: "\(failed) requests of libcurl failed") }
            case .urlSession: try await urlSession(url)
            case .fireweedData:
                let session = Session()
                try await inParallel { _ = try await session.request(url).serializingData().value }
            case .fireweedDecodable:
                let session = Session()
                try await inParallel {
                    _ = try await session.request(url).validate().serializingDecodable(Small.self).value
                }
            case .fireweedClosure: try await closures(url)
            case .fireweedStream: try await stream(url)
            case .fireweedWebSocket: try await webSocket(url)
            case .pythonWebSockets: throw RoundError(text: "Python measures itself")
            case .fireweedSQLite: break
            case .fireweedFile:
                let session = Session()
                let file = try await session.download(url).serializingDownloadedFileURL().value
                try FileManager.default.removeItem(at: file.deletingLastPathComponent())
            case .foundationJSON, .fireweedEncode: try FormRound(client: client).run(count: scenario.count)
            case .libcurlForm, .fireweedMultipart:
                try await UploadRound(client: client, partCount: scenario.name == "multipart-2g" ? 2 : 1).run(url)
            }
        }
    }

    /// As many tasks as the window is wide, each doing its share.
    private func inParallel(_ one: @escaping @Sendable () async throws -> Void) async throws {
        let (window, share) = (scenario.window, scenario.count / scenario.window)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<window {
                group.addTask { for _ in 0..<share { try await one() } }
            }
            try await group.waitForAll()
        }
    }

    /// Hits alone: the response is stored before the clock starts.
    private func cached(_ url: URL) async throws -> Measurement {
        let folder = try TemporaryFolder()
        let session = Session(responseStore: try SQLiteResponseStore(url: folder.file("responses.sqlite")))
        _ = try await session.request(url).serializingData().value
        let measurement = try await Measurement.measure(count: scenario.count) {
            try await inParallel { _ = try await session.request(url).serializingData().value }
        }
        let last = await session.request(url).serializingData().response
        guard last.metrics?.responseSource == .cache else { throw RoundError(text: "the cache did not answer") }
        return measurement
    }

    private func urlSession(_ url: URL) async throws {
        let session = URLSession(configuration: .default)
        try await inParallel {
            let (data, _) = try await session.data(from: url)
            guard !data.isEmpty else { throw RoundError(text: "URLSession got no content") }
        }
    }

    private func closures(_ url: URL) async throws {
        let session = Session()
        let queue = DispatchQueue(label: "bench")
        try await inParallel {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                session.request(url).validate().responseDecodable(of: Small.self, queue: queue) { response in
                    continuation.resume(with: response.result.map { _ in }.mapError { $0 })
                }
            }
        }
    }

    private func stream(_ url: URL) async throws {
        let session = Session()
        var count = 0
        for await stream in session.streamRequest(url).streamTask().streamingData() {
            count += stream.value?.count ?? 0
        }
        guard count == 1 << 30 else { throw RoundError(text: "the stream ended after \(count) bytes") }
    }
}
