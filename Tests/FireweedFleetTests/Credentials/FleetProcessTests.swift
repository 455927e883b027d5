// Several processes, some of which are killed.

import Fireweed
import FireweedFleet
import FireweedTesting
import FixtureServer
import Foundation
import Glibc
import Synchronization
import Testing

/// An origin that takes one token, and renews the token before it.
private final class TokenOrigin: Sendable {
    private let current = Mutex(1)
    let refreshCount = Counter()

    func start() throws -> MockServer {
        try MockServer.start {
            Stub.post("/refresh/{n}").reply { [self] in refresh($0) }.optional()
            Stub.get("/work").reply { [self] in work($0) }.optional()
        }
    }

    /// The answer to a second request with a renewed token is the same new token: a process may be killed after the
    /// answer and before the token is stored.
    private func refresh(_ request: RecordedRequest) -> MockResponse {
        refreshCount.increment()
        let old = request.path.split(separator: "/").last.flatMap { Int($0) } ?? 0
        return current.withLock { current in
            guard old == current || old + 1 == current else { return .status(400) }
            current = old + 1
            return .text("\(current)")
        }
    }

    private func work(_ request: RecordedRequest) -> MockResponse {
        let token = current.withLock { $0 }
        return token > 1 && request.headers["Authorization"] == "Bearer \(token)" ? .text("ok") : .status(401)
    }
}

@Suite("Processes of a fleet", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FleetProcessTests {
    private let server: RedisServer
    private let folder: TemporaryFolder

    init() throws {
        server = try RedisServer()
        folder = try TemporaryFolder()
    }

    /// Starts a process; `isDefault` for the settings that a service has, in place of those for a loaded machine.
    private func program(
        _ arguments: [String], output: FileHandle = .nullDevice, isDefault: Bool = false
    ) throws -> Process {
        let process = Process()
        if isDefault {
            process.environment = ProcessInfo.processInfo.environment.merging(["FIREWEED_FLEET_SETTINGS": "default"]) {
                $1
            }
        }
        process.executableURL = TestPrograms.url
        process.arguments = ["fleet"] + arguments
        process.standardOutput = output
        try process.start()
        return process
    }

    private func status(of process: Process) async -> Int32 {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                process.waitUntilExit()
                continuation.resume(returning: process.terminationStatus)
            }
        }
    }

    /// How many rounds are played: `FIREWEED_FLEET_ROUNDS` has more for `make fleet-rounds`.
    private static var rounds: Int {
        ProcessInfo.processInfo.environment["FIREWEED_FLEET_ROUNDS"].flatMap { Int($0) } ?? 2
    }

    @Test("eight processes with eight requests each and an expired token make one refresh", arguments: [true, false])
    func once(isShared: Bool) async throws {
        for round in 0..<Self.rounds {
            let origin = TokenOrigin()
            let service = try origin.start()
            defer { service.stop() }
            let store = isShared ? "\(server.url)/\(round % 16)" : folder.file("vault-\(round).sqlite").path
            if isShared { try await Fleet(url: store, configuration: .patient).command("FLUSHDB") }
            let address = "http://127.0.0.1:\(service.port)"
            let processes = try (0..<8).map { _ in try program(["token", store, address, "8", "60"]) }
            var codes: [Int32] = []
            for process in processes { codes.append(await status(of: process)) }
            #expect(codes == Array(repeating: 0, count: 8), "round \(round)")
            #expect(origin.refreshCount.value == 1, "round \(round)")
        }
    }

    /// Stops the server's answers for 300 ms again and again, each time when `service` has got so many more requests;
    /// `pauseCount` counts the times.
    private func pause(
        every count: Int, until isOver: @escaping @Sendable () -> Bool, _ service: MockServer, _ pauseCount: Counter
    ) -> Task<Void, any Error> {
        Task(priority: .high) { [url = server.url] in
            let watch = try Fleet(url: url, configuration: .patient)
            while !isOver() {
                if service.stubs.requests.count >= pauseCount.value * count {
                    try await watch.command("CLIENT", "PAUSE", 300)
                    pauseCount.increment()
                }
                await Task.yield()
            }
        }
    }

    @Test("with default settings, processes make one refresh while the server pauses for 300 ms again and again")
    func onceWithPauses() async throws {
        let origin = TokenOrigin()
        let service = try origin.start()
        defer { service.stop() }
        let isOver = Mutex(false)
        let pauseCount = Counter()
        let pauses = pause(every: 16, until: { isOver.withLock { $0 } }, service, pauseCount)
        let address = "http://127.0.0.1:\(service.port)"
        let processes = try (0..<6).map { _ in try program(["token", server.url, address, "8", "10"], isDefault: true) }
        for process in processes { #expect(await status(of: process) == 0) }
        isOver.withLock { $0 = true }
        try await pauses.value
        // On a busy machine the processes may be done before the second pause.
        #expect(pauseCount.value > 0)
        #expect(origin.refreshCount.value == 1, "after \(pauseCount.value) pauses")
    }

    @Test("with default settings, processes keep to the rate together while the server pauses for 300 ms at a time")
    func rateWithPauses() async throws {
        let clock = ContinuousClock()
        let arrivals = Mutex<[ContinuousClock.Instant]>([])
        let service = try MockServer.start {
            Stub.get("/work").reply { _ in
                arrivals.withLock { $0.append(clock.now) }
                return .text("ok")
            }
        }
        defer { service.stop() }
        let isOver = Mutex(false)
        let pauseCount = Counter()
        let pauses = pause(every: 60, until: { isOver.withLock { $0 } }, service, pauseCount)
        let start = clock.now
        // Processes come and go, so that slots are asked for at any moment of a pause.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<6 {
                        let process = try program(
                            ["send", server.url, "http://127.0.0.1:\(service.port)", "100", "10"], isDefault: true)
                        #expect(await status(of: process) == 0)
                    }
                }
            }
            try await group.waitForAll()
        }
        isOver.withLock { $0 = true }
        try await pauses.value
        #expect(pauseCount.value > 0)
        let moments = arrivals.withLock { $0.sorted() }
        #expect(moments.count == 480)
        #expect(clock.now - start >= .milliseconds(4790))
        // Requests that left at their slots may arrive together: one of each process, and those of a busy machine.
        var most = 0
        for (index, moment) in moments.enumerated() {
            most = max(most, moments[index...].prefix { $0 - moment < .seconds(1) }.count)
        }
        #expect(most <= 101 + 8, "\(most) requests in a second")
    }

    @Test("processes that are killed at any moment hold the others up no longer than their lease")
    func killed() async throws {
        for round in 0..<Self.rounds {
            let origin = TokenOrigin()
            let service = try origin.start()
            defer { service.stop() }
            let store = "\(server.url)/\(round % 16)"
            try await Fleet(url: store, configuration: .patient).command("FLUSHDB")
            let address = "http://127.0.0.1:\(service.port)"
            let victims = try (0..<2).map { _ in try program(["token", store, address, "8", "2"]) }
            // Another moment in each round: after so many requests of anybody.
            let count = round % 7
            while service.stubs.requests.count < count, victims.contains(where: \.isRunning) { await Task.yield() }
            for victim in victims { kill(victim.processIdentifier, SIGKILL) }
            for victim in victims { _ = await status(of: victim) }
            let processes = try (0..<6).map { _ in try program(["token", store, address, "8", "2"]) }
            for process in processes { #expect(await status(of: process) == 0, "round \(round)") }
            let refreshCount = origin.refreshCount.value
            #expect((1...2).contains(refreshCount), "at most one of those that were killed had begun")
        }
    }

    @Test("eight processes keep to a rate of 100 in a second together, and use it", arguments: [true, false])
    func rate(isShared: Bool) async throws {
        let store = isShared ? server.url : folder.file("limits.sqlite").path
        let files = (0..<8).map { folder.file("slots-\($0)") }
        let processes = try files.map { file in
            try Data().write(to: file)
            return try program(
                ["slots", store, "100", "3", "16"], output: FileHandle(forWritingTo: file))
        }
        for process in processes { #expect(await status(of: process) == 0) }
        let moments = try files.flatMap { file in
            try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { Int64($0) }
        }.sorted()
        let first = try #require(moments.first)
        let last = try #require(moments.last)
        for (index, moment) in moments.enumerated() where index >= 101 {
            #expect(moment - moments[index - 101] >= 1_000_000, "never more than 101 in a second")
        }
        let allowed = Double(last - first) / 10_000
        #expect(Double(moments.count) >= 0.95 * allowed, "\(moments.count) of \(allowed)")
        #expect(moments.count > 200)
    }

    @Test(
        "the origin gets the requests of eight processes at 100 in a second, and all of them", arguments: [true, false])
    func sends(isShared: Bool) async throws {
        let store = isShared ? server.url : folder.file("limits.sqlite").path
        let service = try MockServer.start { Stub.get("/work").reply(.text("ok")) }
        defer { service.stop() }
        let clock = ContinuousClock()
        let start = clock.now
        let processes = try (0..<8).map { _ in
            try program(["send", store, "http://127.0.0.1:\(service.port)", "100", "40"])
        }
        for process in processes { #expect(await status(of: process) == 0) }
        #expect(service.stubs.requests.count == 320)
        // The first slot comes after the start, and the last one 319 hundredths of a second after the first.
        #expect(clock.now - start >= .milliseconds(3190))
    }

    @Test("fifty clients in five processes that miss the same URL fetch it once")
    func coldClients() async throws {
        for round in 0..<Self.rounds {
            let count = Counter()
            let service = try MockServer.start {
                Stub.get("/cold").reply { _ in
                    .text("\(count.increment())").header("Cache-Control", "max-age=600")
                }
            }
            defer { service.stop() }
            let store = "\(server.url)/\(round % 16)"
            // An origin of an earlier round may have had the same port.
            try await Fleet(url: store, configuration: .patient).command("FLUSHDB")
            let processes = try (0..<5).map { _ in
                try program(["cache", store, "http://127.0.0.1:\(service.port)/cold", "10"])
            }
            for process in processes { #expect(await status(of: process) == 0, "round \(round)") }
            #expect(count.value == 1, "round \(round)")
        }
    }
}
