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
        let titles = ways.map { $0.name.padding(toLength: OverloadedWay.width + 6, withPad: " ", startingAt: 0) }
        print(
            "\(Self.rate) requests a second to a server that can do \(Self.capacity); answered in time, by the second:")
        print("\n    " + titles.joined())
        await withTaskGroup { group in
            for way in ways { group.addTask { await way.send(perSecond: Self.rate, seconds: seconds) } }
            for second in 0..<seconds {
                // A request of this second has ended, well or badly, after its two seconds.
                try? await Task.sleep(for: .seconds(second == 0 ? 3 : 1))
                let bars = ways.map { $0.bar(ofSecond: second, capacity: Self.capacity) }
                print(String(second + 1).padding(toLength: 4, withPad: " ", startingAt: 0) + bars.joined())
            }
        }
    }

    private static func ways() throws -> [OverloadedWay] {
        var ignorant = TransportOptions()
        ignorant.refusesUnreachableDeadlines = false
        return [
            try OverloadedWay("6 connections, no deadlines", connections: 6, options: ignorant),
            try OverloadedWay("6 connections (default)", connections: 6),
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

    func bar(ofSecond second: Int, capacity: Int) -> String {
        let count = answered.withLock { $0[second] ?? 0 }
        let bar = String(repeating: "█", count: min(Self.width, count * Self.width / capacity))
        let number = String(count)
        return number + String(repeating: " ", count: 4 - number.count)
            + bar.padding(toLength: Self.width + 2, withPad: " ", startingAt: 0)
    }
}
