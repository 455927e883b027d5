// Decoding of text in any character set that iconv knows.

import Foundation
import Glibc

/// Decodes text piece by piece; bytes that are not a character become U+FFFD.
final class CharacterSetDecoder {
    private let converter: iconv_t
    /// The first bytes of a character that is not complete yet.
    private var held: [UInt8] = []

    /// Makes a decoder for a character set by its IANA name; `nil` for an unknown name.
    init?(_ name: String) {
        // Browsers read these character sets as wider ones (WHATWG Encoding). Names with a "/", such as "//IGNORE", are
        // refused below: iconv would read them as flags.
        let wider = [
            "iso-8859-1": "WINDOWS-1252", "latin1": "WINDOWS-1252", "us-ascii": "WINDOWS-1252", "gb2312": "GBK",
        ]
        let name = name.trimmingCharacters(in: .whitespaces)
        guard !name.isEmpty, !name.contains("/") else { return nil }
        let made = iconv_open("UTF-8", wider[name.lowercased()] ?? name)
        guard let made, Int(bitPattern: made) != -1 else { return nil }
        converter = made
    }

    deinit { iconv_close(converter) }

    /// Adds bytes, and returns the text of all complete characters.
    func append(_ bytes: some Sequence<UInt8>) -> String {
        held += bytes
        return convert(isLast: false)
    }

    /// Returns the text of the remaining bytes.
    func finish() -> String { convert(isLast: true) }

    private func convert(isLast: Bool) -> String {
        var output: [UInt8] = []
        var buffer = [CChar](repeating: 0, count: 8 * 1024)
        var input = held.map { CChar(bitPattern: $0) }
        var consumed = 0
        while consumed < input.count {
            let (taken, written, failure) = step(&input, from: consumed, into: &buffer)
            output += buffer.prefix(written).map { UInt8(bitPattern: $0) }
            consumed += taken
            guard failure != 0, failure != E2BIG else { continue }
            // The next piece may complete the character.
            if failure == EINVAL, !isLast { break }
            output += [0xEF, 0xBF, 0xBD]
            consumed += 1
        }
        held.removeFirst(min(consumed, held.count))
        return String(decoding: output, as: UTF8.self)
    }

    private func step(_ input: inout [CChar], from offset: Int, into buffer: inout [CChar]) -> (Int, Int, Int32) {
        let (inputCount, bufferCount) = (input.count - offset, buffer.count)
        return input.withUnsafeMutableBufferPointer { source in
            buffer.withUnsafeMutableBufferPointer { target in
                var from = source.baseAddress.map { $0 + offset }
                var to = target.baseAddress
                var (left, room) = (inputCount, bufferCount)
                let result = iconv(converter, &from, &left, &to, &room)
                return (inputCount - left, bufferCount - room, result == -1 ? errno : 0)
            }
        }
    }

    /// Returns the name of the character set: that of a byte order mark, else that of the media type, else UTF-8.
    static func name(of bytes: some Collection<UInt8>, type: String?) -> String {
        let marks: [([UInt8], String)] = [
            ([0xEF, 0xBB, 0xBF], "UTF-8"), ([0xFE, 0xFF], "UTF-16"), ([0xFF, 0xFE], "UTF-16"),
        ]
        if let (_, name) = marks.first(where: { bytes.starts(with: $0.0) }) { return name }
        let parameters = (type ?? "").split(separator: ";").dropFirst()
        for parameter in parameters {
            let halves = parameter.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard halves.count == 2, halves[0].lowercased() == "charset" else { continue }
            return halves[1].trimmingCharacters(in: CharacterSet(charactersIn: "\"'"))
        }
        return "UTF-8"
    }
}
