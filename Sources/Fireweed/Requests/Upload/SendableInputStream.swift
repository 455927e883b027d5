// A stream on its way to a monitor.

import Foundation

/// Carries an `InputStream` to a monitor's queue.
struct SendableInputStream: @unchecked Sendable {
    // SAFETY: monitors are shown the stream, as with the peer; leaving it unread is up to them.
    let value: InputStream

    init(_ value: InputStream) {
        self.value = value
    }
}
