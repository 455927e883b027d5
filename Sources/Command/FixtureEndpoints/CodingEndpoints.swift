// Endpoints whose content is coded.

import CZlib
import CZstd
package import Foundation
import Glibc

/// The endpoints `/gzip`, `/deflate`, `/brotli` and `/zstd`.
package enum CodingEndpoints {
    static func answer(_ name: String, _ request: ReceivedRequest) -> FixtureResponse? {
        guard let coding = codings[name] else { return nil }
        var object = EchoEndpoints.description(request)
        object[coding.key] = true
        let plain = FixtureResponse.json(object)
        guard case .data(let data) = plain.body, let coded = coding.encode(data) else { return .status(500) }
        return FixtureResponse(fields: plain.fields + [("Content-Encoding", coding.token)], body: .data(coded))
    }

    private static let codings: [String: (key: String, token: String, encode: @Sendable (Data) -> Data?)] = [
        "gzip": ("gzipped", "gzip", gzip),
        "deflate": ("deflated", "deflate", { deflate($0) }),
        "brotli": ("brotli", "br", brotli),
        "zstd": ("zstd", "zstd", zstd),
    ]

    /// Encodes data with the content coding `gzip`; `nil` if zlib fails.
    package static func gzip(_ data: Data) -> Data? {
        deflated(data, windowBits: 15 + 16)
    }

    /// Encodes data with the content coding `deflate`; `nil` if zlib fails.
    package static func deflate(_ data: Data) -> Data? {
        deflated(data, windowBits: 15)
    }

    /// Encodes data with the content coding `deflate`, without zlib's header, as some servers do; `nil` if zlib fails.
    package static func bareDeflate(_ data: Data) -> Data? {
        deflated(data, windowBits: -15)
    }

    private static func deflated(_ data: Data, windowBits: Int32) -> Data? {
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        guard deflateInit2_(&stream, 6, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK
        else {
            return nil
        }
        defer { deflateEnd(&stream) }
        var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(data.count))) + 64)
        let capacity = output.count
        let status = data.withUnsafeBytes { input in
            output.withUnsafeMutableBufferPointer { room in
                stream.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
                stream.avail_in = UInt32(input.count)
                stream.next_out = room.baseAddress
                stream.avail_out = UInt32(capacity)
                return CZlib.deflate(&stream, Z_FINISH)
            }
        }
        return status == Z_STREAM_END ? Data(output.prefix(capacity - Int(stream.avail_out))) : nil
    }

    /// Encodes data with the content coding `br`; `nil` if libbrotlienc is not installed or fails.
    package static func brotli(_ data: Data) -> Data? {
        guard let compress = brotliEncoderCompress else { return nil }
        // The output has room for more bytes than the input: incompressible data grows by a few bytes for each 16 MiB.
        var count = data.count + data.count / 1024 + 1024
        var output = [UInt8](repeating: 0, count: count)
        let isDone = compress(5, 22, 0, data.count, Array(data), &count, &output)
        return isDone == 1 ? Data(output.prefix(count)) : nil
    }

    private typealias BrotliEncoderCompress =
        @convention(c) (
            _ quality: Int32, _ windowBits: Int32, _ mode: Int32, _ count: Int, UnsafePointer<UInt8>,
            _ encodedCount: UnsafeMutablePointer<Int>, UnsafeMutablePointer<UInt8>
        ) -> Int32

    /// `BrotliEncoderCompress` of libbrotlienc, loaded at the first use: only the command's server needs the encoder.
    private static let brotliEncoderCompress: BrotliEncoderCompress? =
        dlopen("libbrotlienc.so.1", RTLD_NOW | RTLD_LOCAL).flatMap { dlsym($0, "BrotliEncoderCompress") }
        .map { unsafeBitCast($0, to: BrotliEncoderCompress.self) }

    /// Encodes data with the content coding `zstd`; `nil` if libzstd fails.
    package static func zstd(_ data: Data) -> Data? {
        var output = [UInt8](repeating: 0, count: ZSTD_compressBound(data.count))
        let count = ZSTD_compress(&output, output.count, Array(data), data.count, 3)
        return ZSTD_isError(count) == 0 ? Data(output.prefix(count)) : nil
    }
}
