import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite(
    "Conformance, as the Autobahn test suite judges it", .timeLimit(.minutes(3 * TestTimeouts.minutes)),
    .enabled(if: AutobahnServer.isAvailable, "kosoku is not installed: PyPI could not be reached"))
struct AutobahnTests {
    /// Cases by their numbers; the sections without any, 8 and 11, do not exist.
    struct Choice: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let included: [String]
        let count: Int
        var compression = WebSocketCompression()
    }

    /// All of it, or all but most of sections 12 and 13: a thousand messages of every size up to 128 KiB, twelve times.
    private static let isWhole = ProcessInfo.processInfo.environment["FIREWEED_AUTOBAHN"] == "all"

    /// Of those, one small and one fragmented size.
    private static let sizes = isWhole ? Array(1...18) : [3, 11]

    private static func numbers(_ section: Int, _ kinds: [Int]) -> [String] {
        kinds.flatMap { kind in sizes.map { "\(section).\(kind).\($0)" } }
    }

    static let choices = [
        Choice(
            testDescription: "1–5, 7, 10", included: ["1.*", "2.*", "3.*", "4.*", "5.*", "7.*", "10.*"], count: 102),
        Choice(testDescription: "6 UTF-8", included: ["6.*"], count: 145),
        Choice(testDescription: "9 limits", included: ["9.*"], count: 54),
        Choice(testDescription: "12 compression", included: numbers(12, [1, 2, 3, 4, 5]), count: 5 * sizes.count),
        Choice(testDescription: "13 parameters", included: numbers(13, [1, 3, 4, 7]), count: 4 * sizes.count),
        // The suite asks a client to take no context over only when it has said that it understands that.
        Choice(
            testDescription: "13 parameters without takeover", included: numbers(13, [2, 5, 6]), count: 3 * sizes.count,
            compression: .init(allowsClientContextTakeover: false)),
    ]

    private let session = Session.isolated()

    /// How often a case may be played until it passes.
    ///
    /// The suite ends many a connection half a second after it began, whether that was time enough or not: on a busy
    /// machine it may not have been. What did not pass is played again, alone.
    private static let attemptLimit = 3

    @Test("every case passes", arguments: choices)
    func passes(choice: Choice) async throws {
        var verdicts = try await play(choice.included, count: choice.count, compression: choice.compression)
        for _ in 1..<Self.attemptLimit {
            let failed = verdicts.filter { !$0.value.isPass }.keys.sorted()
            if failed.isEmpty { break }
            print("Autobahn \(choice.testDescription): once more \(failed)")
            verdicts.merge(try await play(failed, count: failed.count, compression: choice.compression)) { $1 }
        }
        #expect(verdicts.count == choice.count)
        for (number, verdict) in verdicts { #expect(verdict.isPass, "\(number): \(verdict)") }
        let counts = verdicts.values.reduce(into: [String: Int]()) { $0[$1.behavior, default: 0] += 1 }
        print("Autobahn \(choice.testDescription): \(counts.sorted { $0.key < $1.key })")
    }

    /// Plays cases as the suite's testee, and returns what it says about each.
    private func play(
        _ included: [String], count: Int, compression: WebSocketCompression
    ) async throws -> [String: AutobahnServer.Verdict] {
        let server = try AutobahnServer(included)
        var announced = 0
        for await message in session.webSocketRequest(to: server.url("getCaseCount")).webSocketTask()
            .streamingMessages()
        {
            if case .string(let text) = message { announced = Int(text) ?? 0 }
        }
        #expect(announced == count)
        let configuration = WebSocketRequest.Configuration(maximumMessageSize: 32 << 20, compression: compression)
        for number in 1...max(announced, 1) {
            let url = server.url("runCase?case=\(number)&agent=fireweed")
            _ = await session.webSocketRequest(to: url, configuration: configuration).webSocketTask().echo()
        }
        _ = await session.webSocketRequest(to: server.url("updateReports?agent=fireweed")).webSocketTask().sights()
        await eventually("the reports are written") { server.verdicts?.count == announced }
        return server.verdicts ?? [:]
    }
}

extension AutobahnServer.Verdict {
    /// Informational cases have no right answer; the few that allow two orders call the less usual one not strict.
    fileprivate var isPass: Bool {
        ["OK", "INFORMATIONAL", "NON-STRICT"].contains(behavior) && ["OK", "INFORMATIONAL"].contains(behaviorClose)
    }
}
