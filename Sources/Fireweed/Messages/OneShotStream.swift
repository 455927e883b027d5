// An `InputStream` that one message may read.

import Foundation
import Synchronization

/// Gives its stream to the first caller only.
final class OneShotStream: @unchecked Sendable {
    // SAFETY: the stream goes to the first caller of `take`, and is not touched here before or after.
    private let stream: InputStream
    private let isTaken = Atomic<Bool>(false)

    init(_ stream: InputStream) {
        self.stream = stream
    }

    /// Whether the stream was given away.
    var isUsedUp: Bool { isTaken.load(ordering: .acquiring) }

    func take() -> InputStream? {
        isTaken.exchange(true, ordering: .acquiringAndReleasing) ? nil : stream
    }
}
