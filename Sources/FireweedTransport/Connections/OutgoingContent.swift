// The content of a request on its way to the socket.

import Foundation

/// The unsent content of a request.
///
/// Used on the loop's thread.
enum OutgoingContent {
    case none
    /// Bytes in memory, and the number of sent bytes.
    case data(Data, sentByteCount: Int)
    /// Bytes of a reader.
    case pump(BodyPump)

    /// Prepares the content of a message; rethrows the error of its reader.
    ///
    /// If the content is a file, the file must be open.
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

    /// Returns bytes in memory as content of a reader, for a message that asks for chunked framing by a field; returns
    /// other content unchanged.
    func chunkable(loop: EventLoop) -> OutgoingContent {
        guard case .data(let data, _) = self else { return self }
        return .pump(BodyPump(reader: DataBodyReader(data), loop: loop))
    }

    /// The number of all bytes; `nil` if it is unknown.
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
        buffer.checkedCopy(from: rest.prefix(count))
        rest = rest.dropFirst(count)
        return count
    }

    func readAtOnce(into buffer: UnsafeMutableRawBufferPointer) -> Int? { read(into: buffer) }
}
