// Request content with the length of a `Content-Length` field.

import FireweedTransport

/// A reader of content whose length comes from the caller's `Content-Length` field.
final class MeasuredReader: BodyReader {
    let byteCount: Int64?
    private let reader: any BodyReader

    init(_ reader: any BodyReader, byteCount: Int64) {
        self.reader = reader
        self.byteCount = byteCount
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try reader.read(into: buffer)
    }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, completion: @escaping @Sendable (Result<Int, any Error>) -> Void
    ) {
        reader.read(into: buffer, completion: completion)
    }

    func stop() {
        reader.stop()
    }

    func readAtOnce(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
        try reader.readAtOnce(into: buffer)
    }
}
