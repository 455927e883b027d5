// Reading of standard input as it arrives.

import Foundation
import Glibc

/// Reads standard input on a thread of its own.
enum InputBytes {
    /// Returns the bytes of standard input in pieces, as they arrive.
    ///
    /// The thread reads the next piece only when the consumer asks, so that a fast pipe waits for a slow network.
    static func stream() -> AsyncStream<[UInt8]> {
        let requests = DispatchSemaphore(value: 0)
        let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        Thread {
            var buffer = [UInt8](repeating: 0, count: 64 * 1024)
            while true {
                let count = read(STDIN_FILENO, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                continuation.yield(Array(buffer.prefix(count)))
                requests.wait()
            }
            continuation.finish()
        }.start()
        return AsyncStream(unfolding: { [iterator = Taker(stream, requests)] in await iterator.next() })
    }

    /// Passes the pieces on, and signals the thread to read the next piece.
    private actor Taker {
        private var iterator: AsyncStream<[UInt8]>.AsyncIterator
        private let requests: DispatchSemaphore
        private var isFirst = true

        init(_ stream: AsyncStream<[UInt8]>, _ requests: DispatchSemaphore) {
            iterator = stream.makeAsyncIterator()
            self.requests = requests
        }

        func next() async -> [UInt8]? {
            if !isFirst { requests.signal() }
            isFirst = false
            var taken = iterator
            defer { iterator = taken }
            return await taken.next(isolation: self)
        }
    }
}

/// Splits bytes into lines without their line ends.
struct LineCutter {
    private var rest: [UInt8] = []

    mutating func append(_ bytes: [UInt8]) -> [[UInt8]] {
        rest += bytes
        var lines = rest.split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0) }
        rest = lines.removeLast()
        return lines.map { $0.last == 0x0D ? Array($0.dropLast()) : $0 }
    }

    /// Returns the bytes after the last line end; `nil` if there are none.
    mutating func finish() -> [UInt8]? {
        defer { rest = [] }
        return rest.isEmpty ? nil : rest
    }
}
