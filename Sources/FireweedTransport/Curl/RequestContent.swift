// The content of a transfer's request, as libcurl reads it.

import CCurl
import Foundation

/// What libcurl's read callback draws on.
///
/// Used on the loop's thread only.
enum RequestContent {
    case none
    /// Bytes in memory, and how many of them are gone.
    case data(Data, sent: Int)
    case pump(BodyPump)

    /// Content up to this size goes out with the head, in one write.
    static let inlineLimit = 64 * 1024

    /// Fills libcurl's buffer.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyPump.Supply {
        switch self {
        case .none: return .end
        case .pump(let pump): return pump.read(into: buffer)
        case .data(let data, let sent):
            let count = min(buffer.count, data.count - sent)
            guard count > 0 else { return .end }
            let start = data.startIndex + sent
            data.copyBytes(to: buffer, from: start..<(start + count))
            self = .data(data, sent: sent + count)
            return .bytes(count)
        }
    }

    /// Goes back in content that is in memory; false for other content.
    mutating func rewind(to offset: Int) -> Bool {
        guard case .data(let data, _) = self, offset <= data.count else { return false }
        self = .data(data, sent: offset)
        return true
    }
}
