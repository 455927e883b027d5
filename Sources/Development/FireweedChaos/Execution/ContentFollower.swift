// Compares a stream with what it should bring, piece by piece.

import Foundation
import Synchronization

/// Where a stream is in its content; after a retry it may begin again.
final class ContentFollower: Sendable {
    private let candidates: [Data]
    private let position = Mutex(0)

    init(_ candidates: [Data]) {
        self.candidates = candidates
    }

    /// Takes the next piece; false when it fits nowhere.
    func take(_ piece: Data) -> Bool {
        position.withLock { position in
            for start in [position, 0] {
                let end = start + piece.count
                guard
                    candidates.contains(where: { $0.count >= end && $0.dropFirst(start).prefix(piece.count) == piece })
                else { continue }
                position = end
                return true
            }
            return false
        }
    }

    /// Whether the content has come whole.
    var isWhole: Bool {
        let position = position.withLock { $0 }
        return candidates.contains { $0.count == position }
    }
}
