// The effect of one session's work on the requests of another session in the process.

import Fireweed
import Foundation
import FoundationNetworking
import Synchronization

/// Measures how long the requests of one session take while another session of the process does some work.
struct NeighbourRound {
    /// The work of the other session.
    enum Work: String, CaseIterable, Sendable {
        case nothing
        /// 200 new TLS connections with a client certificate of RSA-4096.
        case handshakes
        /// 5,000 requests that start to connect together and are cancelled together.
        case dials
        /// Six responses that gunzip to 100 MiB each, about 30 times their compressed size.
        case decoding
    }

    /// The number of requests, and their times in milliseconds.
    struct Times: Codable, Sendable {
        var count: Int
        var median: Double
        var slowestHundredth: Double
    }

    let work: Work
    let plain: URL
    let secure: URL
    let slow: URL

    /// The environment variables with the paths of the client certificate and its key.
    static let certificateVariable = "FIREWEED_BENCH_CERTIFICATE"
    static let keyVariable = "FIREWEED_BENCH_KEY"

    func run() async throws -> Times {
        let session = Session()
        let url = plain.appendingPathComponent("small")
        for _ in 0..<200 { _ = try await session.request(url).serializingData().value }
        let isOver = Atomic(false)
        async let other: Void = {
            defer { isOver.store(true, ordering: .releasing) }
            try await disturb()
        }()
        var times: [Double] = []
        while !isOver.load(ordering: .acquiring) {
            let start = ContinuousClock.now
            _ = try await session.request(url).serializingData().value
            times.append((ContinuousClock.now - start) / .milliseconds(1))
        }
        try await other
        times.sort()
        return Times(
            count: times.count, median: times[times.count / 2], slowestHundredth: times[times.count * 99 / 100])
    }

    private func disturb() async throws {
        switch work {
        case .nothing: try await Task.sleep(for: .seconds(2))
        case .handshakes: try await makeHandshakes()
        case .dials: await makeDials()
        case .decoding: try await decode()
        }
    }

    private func makeHandshakes() async throws {
        let environment = ProcessInfo.processInfo.environment
        guard let authority = environment[Round.authorityVariable], let key = environment[Self.keyVariable],
            let certificate = environment[Self.certificateVariable]
        else { throw RoundError(text: "no certificates") }
        var options = TransportOptions()
        options.certificateAuthorities = .file(URL(fileURLWithPath: authority))
        options.clientIdentity = ClientIdentity(
            certificate: URL(fileURLWithPath: certificate), privateKey: URL(fileURLWithPath: key))
        options.httpVersion = .http1Only
        let configuration = URLSessionConfiguration.af.default
        configuration.httpMaximumConnectionsPerHost = 200
        let session = Session(configuration: configuration, transportOptions: options)
        let url = secure.appendingPathComponent("small")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<200 { group.addTask { _ = try await session.request(url).serializingData().value } }
            try await group.waitForAll()
        }
    }

    private func makeDials() async {
        let configuration = URLSessionConfiguration.af.default
        configuration.httpMaximumConnectionsPerHost = 5_000
        let session = Session(configuration: configuration)
        let requests = (0..<5_000).map { _ in session.request(slow).resume() }
        while !requests.allSatisfy({ $0.task != nil }) { await Task.yield() }
        session.cancelAllRequests()
        for request in requests { _ = await request.serializingData().response }
    }

    private func decode() async throws {
        let session = Session()
        let url = plain.appendingPathComponent("packed")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask { for try await _ in session.streamRequest(url).content() {} }
            }
            try await group.waitForAll()
        }
    }
}
