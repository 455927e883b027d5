// Shows what a client does to a server that has too much to do: `TestPrograms overload [SECONDS]`.

import Fireweed
import FireweedTesting
import Foundation
import FoundationNetworking
import Synchronization

/// Sends three times what a server can do, in three ways at once, and prints how many responses came in time.
///
/// Each way has a server of its own: eight workers that take 160 ms for a request, which makes 50 a second, first come,
/// first served. The servers never notice that a client is gone. Each request has two seconds.
struct OverloadProgram {
    private static let capacity = 50
    private static let rate = 3 * capacity
    private let seconds: Int

    init(_ arguments: [String]) {
        seconds = max(2, arguments.first.flatMap { Int($0) } ?? 12)
    }

    func run() async throws {
        let ways = try Self.ways()
        print(
            """
            Three servers can do \(Self.capacity) requests a second each, and get \(Self.rate). Each request has two seconds.
            - "first come" has six connections; the other requests wait in their order.
            - "default" fails those that have waited until an answer would come too late.
            - "concurrency limit" fails at once what is more than the server bears.

            Answered in time, by the second in which the request was made:

            """)
        print("    " + ways.map { Self.column($0.name) }.joined())
        await withTaskGroup { group in
            for way in ways { group.addTask { await way.send(perSecond: Self.rate, seconds: seconds) } }
            for second in 0..<seconds {
                // A request of this second has ended, well or badly, after its two seconds.
                try? await Task.sleep(for: .seconds(second == 0 ? 3 : 1))
                let bars = ways.map { $0.bar(ofSecond: second, capacity: Self.capacity) }
                print(Self.padded(String(second + 1), to: 4) + bars.joined())
            }
        }
        let (sent, possible) = (Self.rate * seconds, Self.capacity * (seconds + 2))
        print("\nall " + ways.map { Self.column("\($0.answeredCount) of \(sent)") }.joined())
        print("\nUntil the last deadline each server could do \(possible). More: the article \"When servers fail\".")
    }

    private static func column(_ text: String) -> String { padded(text, to: OverloadedWay.width + 6) }

    fileprivate static func padded(_ text: String, to width: Int) -> String {
        text.padding(toLength: width, withPad: " ", startingAt: 0)
    }

    private static func ways() throws -> [OverloadedWay] {
        var ignorant = TransportOptions()
        ignorant.refusesUnreachableDeadlines = false
        return [
            try OverloadedWay("first come", connections: 6, options: ignorant),
            try OverloadedWay("default", connections: 6),
            try OverloadedWay("concurrency limit", connections: 0, guards: [.concurrencyLimit()]),
        ]
    }
}

/// One session, and the server that it overloads.
private final class OverloadedWay: Sendable {
    static let width = 25

    let name: String
    private let server: MockServer
    private let session: Session
    /// The answers in time, by the second in which their requests began.
    private let answered = Mutex<[Int: Int]>([:])

    init(
        _ name: String, connections: Int, options: TransportOptions = TransportOptions(),
        guards: [any TransportGuard] = []
    ) throws {
        self.name = name
        let workers = Mutex([ContinuousClock.Instant](repeating: .now, count: 8))
        server = try MockServer.start {
            Stub.any().reply { _ in
                let (now, end) = workers.withLock { workers in
                    let now = ContinuousClock.now
                    let worker = workers.indices.min { workers[$0] < workers[$1] } ?? 0
                    workers[worker] = max(now, workers[worker]).advanced(by: .milliseconds(160))
                    return (now, workers[worker])
                }
                return .text("done").delayed(by: end - now)
            }
        }
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.httpMaximumConnectionsPerHost = connections
        session = Session(
            configuration: configuration, eventMonitors: [], transportOptions: options,
            options: SessionOptions(guards: guards))
    }

    func send(perSecond rate: Int, seconds: Int) async {
        let start = ContinuousClock.now
        await withDiscardingTaskGroup { group in
            for number in 0..<rate * seconds {
                try? await Task.sleep(until: start.advanced(by: .seconds(1) * number / rate))
                group.addTask { await self.send(inSecond: number / rate) }
            }
        }
    }

    private func send(inSecond second: Int) async {
        let response = await session.request(server.url("/work")).deadline(.seconds(2)).validate().serializingData()
            .response
        if response.error == nil { answered.withLock { $0[second, default: 0] += 1 } }
    }

    /// The answers in time.
    var answeredCount: Int { answered.withLock { $0.values.reduce(0, +) } }

    func bar(ofSecond second: Int, capacity: Int) -> String {
        let count = answered.withLock { $0[second] ?? 0 }
        let bar = String(repeating: "█", count: min(Self.width, count * Self.width / capacity))
        return OverloadProgram.padded(String(count), to: 4) + OverloadProgram.padded(bar, to: Self.width + 2)
    }
}
