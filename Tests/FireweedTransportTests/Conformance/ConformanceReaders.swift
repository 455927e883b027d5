// Contents of requests in the conformance suite.

import FireweedTransport
import Foundation
import Synchronization

/// Gives so many zeros, and announces that it does, or fewer.
final class CountingReader: BodyReader {
    let byteCount: Int64?
    private let left: Mutex<Int>

    init(byteCount: Int, announces: Bool, missing: Int = 0) {
        self.byteCount = announces ? Int64(byteCount - missing) : nil
        left = Mutex(byteCount)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = left.withLock { left in
            let count = min(left, buffer.count)
            left -= count
            return count
        }
        UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]).initializeMemory(as: UInt8.self, repeating: 0)
        return count
    }
}

/// Gives a few bytes, and then never has more.
final class StuckReader: BodyReader {
    var byteCount: Int64? { 1000 }
    private let isBegun = Atomic(false)

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int { 0 }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, completion: @escaping @Sendable (Result<Int, any Error>) -> Void
    ) {
        guard !isBegun.exchange(true, ordering: .relaxed) else { return }
        buffer.copyBytes(from: [1, 2, 3])
        completion(.success(3))
    }
}

/// Gives `ScenarioContent.small`.
final class SmallReader: BodyReader {
    var byteCount: Int64? { Int64(ScenarioContent.small.count) }
    private let isRead = Atomic(false)

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard !isRead.exchange(true, ordering: .relaxed) else { return 0 }
        buffer.copyBytes(from: ScenarioContent.small)
        return ScenarioContent.small.count
    }
}

extension BodySource {
    /// Content that can be read once, as a stream of the user's.
    static func once(_ reader: some BodyReader) -> BodySource {
        let rest = Rest(reader)
        return .reader {
            guard let reader = rest.reader.withLock({ $0.take() }) else { throw URLError(.requestBodyStreamExhausted) }
            return reader
        }
    }
}

/// Gives its reader once.
private final class Rest: Sendable {
    let reader: Mutex<(any BodyReader)?>

    init(_ reader: some BodyReader) { self.reader = Mutex(reader) }
}
