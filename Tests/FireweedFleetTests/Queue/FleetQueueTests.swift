import Fireweed
import FireweedFleet
import FireweedTransport
import FixtureServer
import Foundation
import Testing

@Suite("Lists that a fleet shares", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FleetQueueTests {
    private let server: RedisServer
    private let fleet: Fleet

    init() throws {
        server = try RedisServer()
        fleet = try Fleet(url: server.url, configuration: .patient)
    }

    private func queue(_ consumer: String, lease: Duration = .seconds(60)) -> FleetQueue {
        FleetQueue(fleet: fleet, name: "list", consumer: consumer, lease: lease)
    }

    private func add(
        _ texts: [String], after count: Int = 0, _ checksum: String = "", to queue: FleetQueue, isEnd: Bool = false
    ) async throws -> FleetQueue.Addition {
        try await queue.add(
            texts.map { Array($0.utf8) }, after: count, checksum: checksum, newChecksum: "sum\(count + texts.count)",
            isEnd: isEnd)
    }

    @Test("each item is taken once, in order, and the list ends when all are finished")
    func sharing() async throws {
        let (first, second) = (queue("first"), queue("second"))
        #expect(try await first.take(5, looksForLeftItems: true).items.isEmpty)
        let addition = try await add(["a", "b", "c"], to: first)
        #expect(addition.isOurs && addition.checksum == "sum3" && addition.progress.addedCount == 3)
        let (one, rest) = (
            try await first.take(1, looksForLeftItems: true), try await second.take(9, looksForLeftItems: true)
        )
        #expect(one.items.map(\.index) == [1] && one.items.first?.content == Array("a".utf8))
        #expect(rest.items.map(\.index) == [2, 3] && one.reclaimedCount + rest.reclaimedCount == 0)
        for item in one.items + rest.items { #expect(try await first.finish(item.id)) }
        #expect(try await second.finish(rest.items[0].id) == false, "it was finished before")
        #expect(try await first.take(1, looksForLeftItems: false).progress.isFinished == false)
        _ = try await add([], after: 3, "sum3", to: first, isEnd: true)
        #expect(try await first.take(1, looksForLeftItems: false).progress.isFinished)
    }

    @Test("the last item of a complete list ends it, and leaves no more than the counts")
    func ending() async throws {
        let queue = queue("first")
        _ = try await add(["a"], to: queue, isEnd: true)
        let item = try #require(try await queue.take(1, looksForLeftItems: false).items.first)
        #expect(try await queue.finish(item.id))
        let share = try await queue.take(1, looksForLeftItems: true)
        #expect(share.items.isEmpty && share.progress.isFinished)
        #expect(try await fleet.command("DBSIZE").integer == 1)
        #expect(try await fleet.command("TTL", fleet.key("queue-state", "list")).integer ?? 0 > 600_000)
        #expect(try await add(["b"], after: 1, "sum1", to: queue).progress.addedCount == 1, "nothing is added any more")
    }

    @Test("an item whose process renews its lease stays there, and another one is taken by others")
    func leases() async throws {
        let (first, second) = (queue("first"), queue("second"))
        _ = try await add(["a", "b", "c"], to: first)
        let items = try await first.take(2, looksForLeftItems: false).items
        #expect(try await second.take(9, looksForLeftItems: true).items.map(\.index) == [3])
        // As if the lease were over for both; the first process is heard of for one of them.
        try await first.giveBack(items.map(\.id))
        try await first.renew([items[0].id])
        let share = try await second.take(9, looksForLeftItems: false)
        #expect(share.items.map(\.index) == [2] && share.reclaimedCount == 1)
        // What is somebody else's now is neither renewed nor given back.
        try await first.giveBack([items[1].id])
        #expect(try await first.take(9, looksForLeftItems: true).items.isEmpty)
        #expect(try await first.finish(items[1].id), "whoever is first finishes it")
        #expect(try await second.finish(items[1].id) == false)
    }

    @Test("items of an answer that was lost are taken again, and were not left by another process")
    func lostAnswer() async throws {
        let (first, second) = (queue("first"), queue("second"))
        _ = try await add(["a", "b"], to: first)
        let items = try await first.take(2, looksForLeftItems: false).items
        try await first.giveBack(items.map(\.id))
        let again = try await first.take(1, looksForLeftItems: true)
        #expect(again.items.map(\.index) == [1] && again.reclaimedCount == 0)
        #expect(try await second.take(1, looksForLeftItems: true).reclaimedCount == 1)
    }

    @Test("one process adds at a time, another one goes on after its lease, and nothing is added twice")
    func adding() async throws {
        let (first, second) = (queue("first", lease: .milliseconds(1)), queue("second"))
        _ = try await add(["a", "b"], to: first)
        // The reply was lost: the same call adds nothing.
        let again = try await add(["a", "b"], to: first)
        #expect(again.isOurs && again.progress.addedCount == 2 && again.checksum == "sum2")
        // The lease of the first process is over sooner than any command.
        var addition = try await add(["c"], after: 2, "sum2", to: second)
        while !addition.isOurs { addition = try await add(["c"], after: 2, "sum2", to: second) }
        #expect(addition.progress.addedCount == 3)
        #expect(try await add(["d"], after: 3, "sum3", to: first).isOurs == false)
        let other = try await add(["x"], after: 3, "another", to: second)
        #expect(other.progress.addedCount == 3 && other.checksum == "sum3", "another list is not mixed in")
    }

    @Test("items that have vanished from the server are an error")
    func vanished() async throws {
        let queue = queue("first")
        _ = try await add(["a"], to: queue)
        try await fleet.command("DEL", fleet.key("queue", "list"))
        await #expect(throws: FleetError.unexpectedReply(to: "XREADGROUP")) {
            try await queue.take(1, looksForLeftItems: true)
        }
    }
}
