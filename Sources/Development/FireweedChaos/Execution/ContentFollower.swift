// Comparison of a stream with its expected content, piece by piece.

import Foundation
import Synchronization

/// Compares the bytes of a stream with the expected content; after a retry the stream may begin again.
final class ContentFollower: Sendable {
    private let candidates: [Data]
    private let position = Mutex(0)

    init(_ candidates: [Data]) {
        self.candidates = candidates
    }

    /// Takes the next piece; returns false if the piece fits neither at the current position nor at the beginning.
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

    /// Whether the content is complete.
    var isWhole: Bool {
        let position = position.withLock { $0 }
        return candidates.contains { $0.count == position }
    }
}
