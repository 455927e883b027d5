// Content that is compressed while it is sent.

import FireweedTransport
import Foundation

/// Compresses the bytes of another reader, with one buffer of memory.
final class CompressingReader: BodyReader, @unchecked Sendable {
    // SAFETY: after `init` only `read` changes the state, and its calls never overlap: they come from one serial queue
    // or one caller.
    private static let capacity = 64 * 1024

    /// `nil`: the length is known only at the end.
    let byteCount: Int64? = nil
    private let source: any BodyReader
    private let deflater: Deflater
    private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
    private var pending = 0..<0
    private var hasEnded = false

    init(_ source: any BodyReader, _ coding: RequestCoding) throws {
        self.source = source
        deflater = try Deflater(coding)
    }

    deinit { input.deallocate() }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        guard !buffer.isEmpty else { return 0 }
        while !deflater.isFinished {
            if pending.isEmpty, !hasEnded {
                pending = 0..<(try source.read(into: input))
                hasEnded = pending.isEmpty
            }
            let step = try deflater.compress(
                UnsafeRawBufferPointer(rebasing: input[pending]), isLast: hasEnded, into: buffer)
            pending = (pending.lowerBound + step.taken)..<pending.upperBound
            if step.made > 0 { return step.made }
        }
        return 0
    }
}
