// A reader of a stream that the session's delegate provides.

import FireweedTransport
import Foundation
import Synchronization

/// Asks the session's delegate for a stream when the first bytes are needed, and reads that stream.
///
/// The delegate may take time: the queue that reads content waits for the delegate, and the event loop does not wait.
final class DelegatedStreamReader: BodyReader {
    let byteCount: Int64?
    private let request: Request
    private let attempt: Attempt
    private let answer = AwaitedAnswer<SendableInputStream?>()
    /// The reader of the delegate's stream; `nil` until there is a stream.
    private let reader = Mutex<StreamBodyReader?>(nil)

    init(of request: Request, _ attempt: Attempt, byteCount: Int64?) {
        self.request = request
        self.attempt = attempt
        self.byteCount = byteCount
    }

    /// Reads the delegate's stream; throws the stream's error, or `URLError.requestBodyStreamExhausted` when the
    /// delegate gives no stream within 60 seconds.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try (reader.withLock { $0 } ?? openStream()).read(into: buffer)
    }

    func stop() {
        answer.give(nil)
    }

    private func openStream() throws -> StreamBodyReader {
        request.askDelegateForStream(for: attempt) { [answer] in answer.give($0) }
        guard let stream = answer.wait()??.value else { throw URLError(.requestBodyStreamExhausted) }
        let opened = StreamBodyReader(opening: stream, byteCount: byteCount)
        reader.withLock { $0 = opened }
        return opened
    }
}
