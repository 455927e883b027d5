import FixtureServer
import Foundation
import Testing

@Suite("Cache rules of RFC 9111 over the wire", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CacheTableTests {
    @Test("from SQLite", arguments: CacheTable.all)
    func sqlite(row: CacheCase) async throws {
        try await play(row, .sqlite)
    }

    @Test("from URLCache", arguments: CacheTable.all.filter { !$0.needsVariants })
    func urlCache(row: CacheCase) async throws {
        try await play(row, .urlCache)
    }

    @Test("from a store that is reached over a network", arguments: CacheTable.all)
    func asynchronous(row: CacheCase) async throws {
        try await play(row, .asynchronous)
    }

    @Test("the table is long enough, and no two rows are the same")
    func size() {
        #expect(CacheTable.all.count >= 120)
        #expect(Set(CacheTable.all.map(\.testDescription)).count == CacheTable.all.count)
    }

    @Test("a row that is wrong is noticed: who answers, with what, and how often the origin is asked")
    func wrongRows() async throws {
        let answers = [Answer.ok("one", CacheTable.fresh, "X: 1"), .ok("two")]
        for wrong in [
            Ask.network("one"), .cache("two"), .validated("one"), .cache("one", status: 201),
            .cache("one", shows: ["X": "2"]), .cache("one", shows: ["X": nil]), .fails(.timedOut),
        ] {
            let play = try CachePlay(answers)
            await withKnownIssue { await play.perform([.network("one"), wrong], "wrong") }
        }
        let play = try CachePlay(answers)
        await withKnownIssue { await play.perform([.network("one", sends: ["X: 1"])], "wrong") }
        await withKnownIssue { try await self.play(CacheCase("", "too much", answers, [.network("one")]), .sqlite) }
    }

    private func play(_ row: CacheCase, _ kind: StoreKind) async throws {
        let play = try CachePlay(row.answers, store: kind)
        await play.perform(row.asks, "\(row.testDescription)")
        #expect(play.heads.count == row.answers.count, "\(row.testDescription): so often the origin was asked")
    }
}
