// The content codings `gzip` and `deflate`, by zlib.

import CZlib

/// Decodes gzip members (RFC 1952), a zlib stream (RFC 1950), or a bare deflate stream (RFC 1951).
///
/// `deflate` is a zlib stream according to RFC 9110 §8.4.1.2, but some servers omit its header, and browsers and curl
/// accept both. `gzip` may also be a zlib stream, as in curl. After a gzip member another member may follow (RFC 1952
/// §2.2). Zeros may follow too, which gzip(1) and curl accept, because tape blocks were padded with zeros. Other bytes
/// after the end are an error, except 4 bytes after a bare deflate stream, as in curl: a zlib checksum without the
/// header.
final class InflateStream: ContentCodingStream {
    private enum State {
        /// No bytes came.
        case untouched
        /// The first byte of `deflate` came; the second byte will show whether there is a zlib header.
        case firstByte(UInt8)
        /// Inside a stream.
        case inflating
        /// After a gzip member.
        case betweenMembers
        /// In the zeros after a gzip member; at most `rest` more may follow.
        case padding(rest: Int)
        /// After the end; the next `tolerated` bytes are ignored.
        case ended(tolerated: Int)
    }

    private enum Format {
        case gzip, zlib, bare
    }

    /// The most zeros after a gzip member.
    private static let paddingByteCount = 64 * 1024

    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var isOpen = false
    private let name: String
    private var format: Format
    private var state = State.untouched
    /// The first byte, which was held back until the format was known; zlib gets it in a separate call.
    private var held: UInt8?

    /// The version of the loaded zlib, such as `1.2.13`.
    static var libraryVersion: String { String(cString: zlibVersion()) }

    /// Makes a stream for `gzip`, or for `deflate`.
    init(isGzip: Bool) {
        name = isGzip ? "gzip" : "deflate"
        format = isGzip ? .gzip : .zlib
        stream.initialize(to: z_stream())
    }

    deinit {
        if isOpen { inflateEnd(stream) }
        stream.deallocate()
    }

    var isWhole: Bool {
        switch state {
        case .untouched, .betweenMembers, .padding, .ended: true
        case .firstByte, .inflating: false
        }
    }

    func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(TransferFailure) -> Int {
        while true {
            switch state {
            case .untouched:
                guard let first = input.first else { return 0 }
                if case .gzip = format {
                    try open(windowBits: 15 + 32)
                } else {
                    state = .firstByte(first)
                    input = input.advanced(by: 1)
                }
            case .firstByte(let first):
                guard let second = input.first else { return 0 }
                // A zlib header (RFC 1950 §2.2) has method 8, a window of at most 32 KiB, and a value that is a
                // multiple of 31.
                let isWrapped =
                    first & 0x0F == 8 && first >> 4 <= 7 && (Int(first) << 8 + Int(second)).isMultiple(of: 31)
                format = isWrapped ? .zlib : .bare
                held = first
                try open(windowBits: isWrapped ? 15 : -15)
            case .betweenMembers:
                guard let first = input.first else { return 0 }
                guard first != 0 else {
                    state = .padding(rest: Self.paddingByteCount)
                    continue
                }
                guard first == 0x1F, inflateReset2(stream, 15 + 16) == Z_OK else { throw trailing }
                state = .inflating
            case .padding(let rest):
                guard input.count <= rest, input.allSatisfy({ $0 == 0 }) else { throw trailing }
                state = .padding(rest: rest - input.count)
                input = input.advanced(by: input.count)
                return 0
            case .ended(let tolerated):
                guard input.count <= tolerated else { throw trailing }
                state = .ended(tolerated: tolerated - input.count)
                input = input.advanced(by: input.count)
                return 0
            case .inflating:
                let (count, isDone) = try inflate(&input, into: output)
                if count > 0 || isDone { return count }
            }
        }
    }

    private func open(windowBits: Int32) throws(TransferFailure) {
        let code = inflateInit2_(stream, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard code == Z_OK else { throw .badCoding(name, "zlib cannot be started") }
        isOpen = true
        state = .inflating
    }

    /// Runs zlib once; `isDone` if zlib needs more input.
    private func inflate(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(TransferFailure) -> (count: Int, isDone: Bool) {
        var code = Z_OK
        let room = UInt32(clamping: output.count)
        stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = room
        if let held {
            code = withUnsafeBytes(of: held) { run($0).code }
            self.held = nil
        }
        if code == Z_OK || code == Z_BUF_ERROR {
            let (next, used) = run(input)
            code = next
            input = input.advanced(by: used)
        }
        let count = Int(room - stream.pointee.avail_out)
        switch code {
        case Z_OK: return (count, false)
        // Z_BUF_ERROR means that zlib could not make progress.
        case Z_BUF_ERROR: return (count, true)
        case Z_STREAM_END:
            switch format {
            case .gzip: state = .betweenMembers
            case .zlib: state = .ended(tolerated: 0)
            case .bare: state = .ended(tolerated: 4)
            }
            return (count, false)
        default:
            throw .badCoding(name, stream.pointee.msg.map { String(cString: $0) } ?? "zlib reports \(code)")
        }
    }

    private func run(_ bytes: UnsafeRawBufferPointer) -> (code: Int32, used: Int) {
        let available = UInt32(clamping: bytes.count)
        stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = available
        let code = CZlib.inflate(stream, Z_NO_FLUSH)
        return (code, Int(available - stream.pointee.avail_in))
    }

    private var trailing: TransferFailure { .badCoding(name, "something follows its end") }
}
