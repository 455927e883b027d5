import Foundation
import Testing

@testable import FireweedTransport

@Suite("Random identifiers")
struct RandomUUIDTests {
    @Test("have the version and the variant of RFC 9562 §5.4, and differ")
    func forms() {
        let identifiers = (0..<1000).map { _ in UUID.random() }
        for identifier in identifiers {
            #expect(identifier.uuid.6 >> 4 == 4 && identifier.uuid.8 >> 6 == 0b10)
        }
        #expect(Set(identifiers).count == 1000)
        // Every bit that may differ does.
        let texts = identifiers.map { withUnsafeBytes(of: $0.uuid) { Array($0) } }
        let (all, any) = texts.reduce((texts[0], texts[0])) { sum, bytes in
            (zip(sum.0, bytes).map { $0 & $1 }, zip(sum.1, bytes).map { $0 | $1 })
        }
        #expect(all == [0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0])
        #expect(any == [255, 255, 255, 255, 255, 255, 0x4F, 255, 0xBF, 255, 255, 255, 255, 255, 255, 255])
    }
}
