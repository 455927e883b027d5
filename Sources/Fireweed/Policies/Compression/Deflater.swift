// An owner of zlib's deflate streams.

import CZlib
import Foundation

/// A content coding of requests (RFC 9110 §8.4.1).
enum RequestCoding: String, Sendable {
    /// DEFLATE in the zlib format (RFC 1950): what HTTP calls `deflate`.
    case deflate
    /// DEFLATE in the gzip format (RFC 1952).
    case gzip

    /// zlib's `windowBits`: a window of 32 KiB, plus 16 for the gzip format.
    fileprivate var windowBits: Int32 { self == .gzip ? 15 + 16 : 15 }
}

/// A failure of zlib to compress, with zlib's own code.
struct DeflateError: Error, LocalizedError {
    let code: Int32

    var errorDescription: String? { "the content could not be compressed (zlib's code \(code))" }
}

/// Owns one zlib stream, which compresses bytes in steps.
final class Deflater {
    /// The level of Apple's Compression framework for the zlib format, so that the content begins with the same bytes
    /// (`78 5E`).
    private static let level: Int32 = 5

    // On the heap, where its address stays the same: zlib stores a pointer to its `z_stream`.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private(set) var isFinished = false

    /// Makes a stream; throws `DeflateError` when there is no memory for it.
    init(_ coding: RequestCoding) throws {
        stream.initialize(to: z_stream())
        let size = Int32(MemoryLayout<z_stream>.size)
        let code = deflateInit2_(
            stream, Self.level, Z_DEFLATED, coding.windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
        guard code == Z_OK else { throw DeflateError(code: code) }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Compresses bytes from `input` into `output`, and returns the number of used bytes of each.
    ///
    /// With `isLast`, the end of the coding is written after all input; call the method until `isFinished`.
    func compress(
        _ input: UnsafeRawBufferPointer, isLast: Bool, into output: UnsafeMutableRawBufferPointer
    ) throws -> (taken: Int, made: Int) {
        let offered = min(input.count, Int(UInt32.max))
        let room = min(output.count, Int(UInt32.max))
        // zlib does not write through `next_in`; its type is older than `const`.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(offered)
        stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(room)
        let code = deflate(stream, isLast && offered == input.count ? Z_FINISH : Z_NO_FLUSH)
        defer { (stream.pointee.next_in, stream.pointee.next_out) = (nil, nil) }
        // Z_BUF_ERROR is not a failure: the next call has more input or more room.
        guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else { throw DeflateError(code: code) }
        isFinished = code == Z_STREAM_END
        return (offered - Int(stream.pointee.avail_in), room - Int(stream.pointee.avail_out))
    }

    /// Compresses bytes in memory; needs a buffer of up to 64 KiB beside the result.
    static func compressed(_ data: Data, _ coding: RequestCoding) throws -> Data {
        let deflater = try Deflater(coding)
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: min(64 * 1024, data.count + 64), alignment: 16)
        defer { room.deallocate() }
        var result = Data()
        try data.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !deflater.isFinished {
                let step = try deflater.compress(UnsafeRawBufferPointer(rebasing: rest), isLast: true, into: room)
                rest = rest.dropFirst(step.taken)
                result.append(contentsOf: UnsafeRawBufferPointer(rebasing: room[..<step.made]))
            }
        }
        return result
    }
}
