import Foundation
import Testing

@testable import Fireweed

@Suite("Content that grows in memory")
struct GrowingContentTests {
    /// Appends pieces of a content whose bytes count up; gives the capacities after each.
    private func capacities(_ pieces: [Int], announced: Int64?) -> (content: GrowingContent, capacities: [Int]) {
        var content = GrowingContent()
        var capacities: [Int] = []
        var position = 0
        for count in pieces {
            let bytes = (position..<position + count).map { UInt8(truncatingIfNeeded: $0) }
            bytes.withUnsafeBytes { content.append($0, announced: { announced }) }
            position += count
            capacities.append(content.capacity)
        }
        let whole = (0..<position).map { UInt8(truncatingIfNeeded: $0) }
        #expect(content.data == Data(whole))
        return (content, capacities)
    }

    @Test("memory is made once for an announced length")
    func announced() {
        let piece = 64 << 10
        let made = capacities(Array(repeating: piece, count: 16), announced: 1 << 20).capacities
        #expect(made.allSatisfy { $0 == 1 << 20 })
        #expect(capacities([10, 100_000, 100_000], announced: 200_010).capacities == [0, 200_010, 200_010])
    }

    @Test("memory is never much more than what has come, whatever is announced", arguments: [1 << 30, Int64.max])
    func exaggerated(announced: Int64) {
        let piece = 64 << 10
        let made = capacities(Array(repeating: piece, count: 64), announced: announced).capacities
        for (index, capacity) in made.enumerated() {
            #expect(capacity <= max(2 * (index + 1) * piece, (index + 1) * piece + GrowingContent.reserve))
        }
        #expect(Set(made).count <= 5, "it doubles")
    }

    @Test("content of an unknown length, or longer than announced, is kept whole", arguments: [nil, 0, 5, 40_000])
    func unknown(announced: Int64?) {
        _ = capacities([3, 20_000, 1, 30_000], announced: announced)
        _ = capacities([20_000, 20_000, 20_000], announced: announced)
    }

    @Test("the length of small content is not asked for")
    func small() {
        var content = GrowingContent()
        [UInt8](repeating: 1, count: 1000).withUnsafeBytes {
            content.append($0) {
                Issue.record("it was asked for")
                return nil
            }
        }
        #expect(content.data?.count == 1000)
    }
}
