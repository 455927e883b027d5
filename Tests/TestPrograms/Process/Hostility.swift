// The state of a process after hostile servers.

import CAllocationCount
import Fireweed
import Foundation

/// Asks servers for something, round after round, and prints as one line of JSON what the process holds after each
/// round.
struct Hostility {
    /// What is on standard input, as JSON.
    struct Plan: Codable {
        struct Server: Codable {
            var url: String
            /// Seconds without a byte after which a request fails.
            var idleTimeout: Double
            /// Whether HTTP/2 is spoken in clear text.
            var speaksPlainHTTP2 = false
        }

        var servers: [Server]
        /// A file with the authority of those that speak TLS.
        var authority: String?
        var rounds: Int
    }

    /// What the process holds.
    struct Facts: Codable {
        /// Sockets and other descriptors, without those of what lives as long as the process.
        var descriptors: Int
        /// Requests and sessions that still exist, of all that were made.
        var objects: Int
        /// Blocks on the heap that were not freed, in bytes.
        var heapByteCount: Int
    }

    /// What is printed.
    struct Report: Codable {
        /// After each round.
        var facts: [Facts] = []
        /// What came of each request of the last round, by URL: the content, or `error` and the code of the `URLError`.
        var outcomes: [String: String] = [:]
    }

    let plan: Plan

    func run() async throws {
        fw_count_allocations()
        var report = Report()
        for _ in 0..<plan.rounds {
            let left = try await round(&report.outcomes)
            report.facts.append(try settled(after: left, fewest: report.facts.map(\.descriptors).min()))
        }
        print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
    }

    /// Asks every server, eight at once, with a session for each kind of server; gives what ought to be gone.
    private func round(_ outcomes: inout [String: String]) async throws -> [Weak] {
        var left: [Weak] = []
        for kind in [false, true] {
            let servers = plan.servers.filter { $0.speaksPlainHTTP2 == kind }
            let session = session(speakingPlainHTTP2: kind)
            left.append(Weak(session))
            for start in stride(from: 0, to: servers.count, by: 8) {
                let group = servers[start..<min(start + 8, servers.count)]
                let requests = group.map { server in
                    session.request(server.url, requestModifier: { $0.timeoutInterval = server.idleTimeout })
                }
                left += requests.map { Weak($0) }
                for (server, request) in zip(group, requests) {
                    outcomes[server.url] =
                        switch await request.serializingString().result {
                        case .success(let content): content
                        case .failure(let error): "error \((error.underlyingError as? URLError)?.code.rawValue ?? 0)"
                        }
                }
            }
        }
        return left
    }

    private func session(speakingPlainHTTP2 isPlain: Bool) -> Session {
        var options = TransportOptions()
        options.maximumBodyByteCount = 1_000_000
        options.maximumHeaderByteCount = 100_000
        options.maximumFramingByteCount = 65_536
        if isPlain { options.httpVersion = .http2 }
        if let authority = plan.authority { options.certificateAuthorities = .file(URL(fileURLWithPath: authority)) }
        return Session(transportOptions: options)
    }

    /// The facts, once everything is released that needs no further call, and the number of descriptors has stood still
    /// for a while; after a minute whatever they are.
    private func settled(after left: [Weak], fewest: Int?) throws -> Facts {
        let deadline = ContinuousClock.now.advanced(by: .seconds(60))
        var (last, repetitions) = (0, 0)
        while true {
            let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            let objects = left.count { $0.object != nil }
            repetitions = descriptors == last ? repetitions + 1 : 0
            last = descriptors
            let isSettled = objects == 0 && descriptors <= fewest ?? descriptors && repetitions > 40
            if isSettled || ContinuousClock.now >= deadline {
                return Facts(descriptors: descriptors, objects: objects, heapByteCount: Int(fw_heap_byte_count()))
            }
            // No event tells of it. `Task.sleep` would leave memory in Dispatch's caches.
            usleep(5000)
        }
    }

    private struct Weak: @unchecked Sendable {
        // SAFETY: read and written by the one task of `run`; the reference itself is atomic.
        private(set) weak var object: AnyObject?

        init(_ object: AnyObject) {
            self.object = object
        }
    }
}
