// A stream on its way to a monitor.

import Foundation

/// Carries an `InputStream` to a monitor's queue.
struct SendableInputStream: @unchecked Sendable {
    // SAFETY: monitors get the stream, as with Alamofire; they are responsible for not reading it.
    let value: InputStream

    init(_ value: InputStream) {
        self.value = value
    }
}
