// Decoding of text in charsets that Foundation may lack.

import Foundation
import Glibc

/// Decodes text with the C library's `iconv(3)`.
///
/// A program that is linked with `--static-swift-stdlib` has only Foundation's decoders of UTF-8, UTF-16, UTF-32, ASCII
/// and ISO-8859-1. Every program decodes all other charsets with `iconv`, so that all programs decode alike.
enum CharsetConverter {
    /// Returns the text of bytes in an encoding; `nil` when they are not text in the encoding.
    static func text(of data: Data, in encoding: String.Encoding) -> String? {
        guard let name = encoding.iconvName, let opened = iconv_open("UTF-8", name), Int(bitPattern: opened) != -1
        else {
            // Foundation decodes the text if the encoding has no name for `iconv`, or if its converter is not
            // installed.
            return String(data: data, encoding: encoding)
        }
        defer { iconv_close(opened) }
        return convert(data, opened).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func convert(_ data: Data, _ converter: iconv_t) -> [UInt8]? {
        var output: [UInt8] = []
        output.reserveCapacity(data.count)
        var buffer = [CChar](repeating: 0, count: 16 * 1024)
        // `iconv` takes a pointer to mutable bytes, but does not change the bytes.
        var input = data.map { CChar(bitPattern: $0) }
        let count = input.count
        return input.withUnsafeMutableBufferPointer { source in
            var from = source.baseAddress
            var left = count
            while true {
                let isLast = left == 0
                let step = buffer.withUnsafeMutableBufferPointer { target in
                    var to = target.baseAddress
                    var room = target.count
                    // Called without input, `iconv` writes the characters that it still holds in its state (iconv(3)).
                    let result =
                        isLast ? iconv(converter, nil, nil, &to, &room) : iconv(converter, &from, &left, &to, &room)
                    let failure = result == -1 ? errno : 0
                    output += UnsafeRawBufferPointer(target).prefix(target.count - room)
                    return failure
                }
                if step != 0, step != E2BIG { return nil }
                if isLast, step == 0 { return output }
            }
        }
    }
}
