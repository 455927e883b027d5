import Foundation
import Testing

@Suite("RFC 9111, rule by rule, against the whole stack", .timeLimit(.minutes(5)))
struct CacheTableTests {
    @Test("from SQLite", arguments: CacheTable.all)
    func sqlite(row: CacheCase) async throws {
        try await play(row, .sqlite)
    }

    @Test("from URLCache", arguments: CacheTable.all.filter { !$0.needsVariants })
    func urlCache(row: CacheCase) async throws {
        try await play(row, .urlCache)
    }

    @Test("the table is long enough, and no two rows are the same")
    func size() {
        #expect(CacheTable.all.count >= 120)
        #expect(Set(CacheTable.all.map(\.testDescription)).count == CacheTable.all.count)
    }

    private func play(_ row: CacheCase, _ kind: StoreKind) async throws {
        let play = try CachePlay(row.answers, store: kind)
        await play.perform(row.asks, "\(row.testDescription)")
        #expect(play.heads.count == row.answers.count, "\(row.testDescription): so often the origin was asked")
    }
}
