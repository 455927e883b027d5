// A sendable wrapper of an `InputStream`.

import Foundation

/// Carries an `InputStream` to a monitor's queue, or from the session's delegate to the reader of the content.
struct SendableInputStream: @unchecked Sendable {
    // SAFETY: a monitor must not read the stream, as with Alamofire; a delegate hands its stream over to the library.
    let value: InputStream

    init(_ value: InputStream) {
        self.value = value
    }
}
