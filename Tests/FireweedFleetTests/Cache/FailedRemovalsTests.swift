// The table of removals that failed.

import Testing

@testable import FireweedFleet

@Suite("Removals that failed")
struct FailedRemovalsTests {
    private func removal(_ shared: String, own: String? = nil) -> FleetCacheRemoval {
        FleetCacheRemoval(
            shared: RESPArgument(shared), own: RESPArgument(own ?? shared), revision: RESPArgument("r-\(shared)"))
    }

    @Test("a removal is pending for all partitions of its key until it is made")
    func pending() throws {
        var failed = FailedRemovals()
        failed.add(removal("a", own: "one"))
        failed.add(removal("a", own: "two"))
        #expect(failed.failure(of: "b") == nil)
        failed.end(try #require(failed.failure(of: "a")))
        failed.end(try #require(failed.failure(of: "a")))
        #expect(failed.failure(of: "a") == nil && failed.isEmpty)
    }

    @Test("a removal that was sent before a later failure does not end it")
    func later() throws {
        var failed = FailedRemovals()
        failed.add(removal("a"))
        let first = try #require(failed.all.first)
        failed.add(removal("a"))
        failed.end(first)
        #expect(failed.all == [.removal(removal("a"), number: 2)])
    }

    @Test("more than are remembered remove everything, those that came meanwhile included")
    func everything() throws {
        var failed = FailedRemovals()
        for number in 0..<FailedRemovals.limit { failed.add(removal("\(number)")) }
        #expect(failed.failure(of: "other") == nil)
        failed.add(removal("other"))
        let first = try #require(failed.failure(of: "any"))
        failed.add(removal("another"))
        failed.end(first)
        let second = try #require(failed.all.first)
        #expect(second == .everything(number: UInt64(FailedRemovals.limit) + 2))
        failed.end(second)
        #expect(failed.isEmpty && failed.failure(of: "0") == nil)
    }
}
