// The content of a request on its way to the socket.

import Foundation

/// The content of a request that is still to be sent.
///
/// Used on the loop's thread only.
enum OutgoingContent {
    case none
    /// Bytes in memory, and how many of them have left.
    case data(Data, sentByteCount: Int)
    /// Bytes that a reader gives.
    case pump(BodyPump)

    /// Begins to send the content of a message; throws what its reader throws.
    ///
    /// A file of the message is open already.
    init(_ body: MessageContent, _ file: ExchangeFile, loop: EventLoop) throws {
        switch body {
        case .none: self = .none
        case .data(let data): self = .data(data, sentByteCount: 0)
        case .file:
            guard case .open(let file) = file else { preconditionFailure("an exchange in line has its file") }
            self = .pump(BodyPump(reader: try file.makeReader(), loop: loop))
        case .reader(let make): self = .pump(BodyPump(reader: try make(), loop: loop))
        }
    }

    /// The same content from a reader where it is in memory, for a message that says itself that it is sent in chunks.
    func chunkable(loop: EventLoop) -> OutgoingContent {
        guard case .data(let data, _) = self else { return self }
        return .pump(BodyPump(reader: DataBodyReader(data), loop: loop))
    }

    /// How many bytes there are in all; `nil` where that is not known.
    var byteCount: Int64? {
        switch self {
        case .none: 0
        case .data(let data, _): Int64(data.count)
        case .pump(let pump): pump.byteCount
        }
    }
}

/// Reads bytes in memory.
private final class DataBodyReader: BodyReader, @unchecked Sendable {
    // SAFETY: `BodyReader` promises that no two calls run at the same time.
    private var rest: Data
    let byteCount: Int64?

    init(_ data: Data) {
        rest = data
        byteCount = Int64(data.count)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, rest.count)
        buffer.copyBytes(from: rest.prefix(count))
        rest = rest.dropFirst(count)
        return count
    }

    func readAtOnce(into buffer: UnsafeMutableRawBufferPointer) -> Int? { read(into: buffer) }
}
