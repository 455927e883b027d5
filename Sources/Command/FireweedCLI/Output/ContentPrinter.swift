// Formatting of content for standard output; pure, except for `Terminal.isOutput`.

import CommandLanguage
import Fireweed
import Foundation

/// Returns the bytes to write for each piece of content.
struct ContentPrinter {
    /// The form in which content is written.
    enum Form {
        /// The unchanged bytes, as they arrive.
        case bytes
        /// Decoded text, as it arrives.
        case text
        /// JSON, markup and programs, formatted and coloured when they are complete; other text as it arrives.
        case formatted
        /// A JSON value on each line, formatted when the line is complete.
        case lines
        /// One server-sent event at a time: byte for byte, or as text.
        case events(areRaw: Bool)
        /// The values at a path of JSON, each on a line, when the content is complete.
        case selection(ValuePath)
    }

    private var form: Form
    private let text: MessageText
    private let type: String?
    private let charset: String?
    private var held = Data()
    /// The first byte that is neither white space nor a control character.
    private var firstVisible: UInt8?
    /// The most bytes without a visible one in front of JSON.
    private static let invisibleLimit = 64 * 1024
    private var decoder: CharacterSetDecoder?
    private var splitter = EventSplitter()
    private var hasGivenUp = false
    private var endsWithLineBreak = true
    /// The reason why the selected values cannot be printed; `nil` if they can.
    private(set) var failure: String?

    /// Makes a printer for content of a media type.
    ///
    /// Text is read in `charset`; `nil` takes the charset that the content or its type names.
    init(form: Form, text: MessageText, type: String?, charset: String? = nil) {
        self.form = form
        self.text = text
        self.type = type
        self.charset = charset
    }

    /// Adds a piece, and returns the bytes to write now.
    mutating func take(_ piece: Data) -> [UInt8] {
        switch form {
        case .bytes: return Array(piece)
        case .selection:
            held.append(piece)
            return []
        case .text: return shown(piece)
        case .formatted:
            held.append(piece)
            firstVisible = firstVisible ?? piece.first { $0 > 0x20 }
            guard !isJSON, !text.needsWhole(type) else { return [] }
            // The first visible byte shows whether this is JSON. Other text, and what begins with too much that cannot
            // be seen, is written as it arrives from now on.
            guard firstVisible != nil || held.count > Self.invisibleLimit else { return [] }
            form = .text
            defer { held = Data() }
            return shown(held)
        case .lines:
            held.append(piece)
            var output: [UInt8] = []
            while let end = held.firstIndex(of: 0x0A) {
                output += line(held[held.startIndex..<end])
                held = Data(held[(end + 1)...])
            }
            return output
        case .events(let areRaw):
            return splitter.take(piece).flatMap { areRaw ? $0 : text.event($0).bytes }
        }
    }

    /// Returns the bytes to write at the end of the content.
    mutating func finish() -> [UInt8] {
        switch form {
        case .bytes: return []
        case .formatted: return text.content(held, type: type, charset: charset).bytes
        case .lines: return held.isEmpty ? [] : line(held)
        case .text:
            let rest = decoder?.finish() ?? ""
            let bytes = TerminalText(foreign: rest).bytes
            if let last = bytes.last { endsWithLineBreak = last == 0x0A }
            return endsWithLineBreak ? bytes : bytes + [0x0A]
        case .events(let areRaw):
            // The rest is not a complete event, but raw output contains every byte.
            return areRaw ? splitter.rest : []
        case .selection(let path): return selected(path)
        }
    }

    private var isJSON: Bool {
        type?.contains("json") == true || firstVisible == UInt8(ascii: "{") || firstVisible == UInt8(ascii: "[")
    }

    private mutating func shown(_ piece: Data) -> [UInt8] {
        guard !hasGivenUp else { return [] }
        let name = charset ?? CharacterSetDecoder.name(of: piece, type: type)
        let present = decoder ?? CharacterSetDecoder(name) ?? CharacterSetDecoder("UTF-8")
        guard let present else { return [] }
        let isFirst = decoder == nil
        decoder = present
        var decoded = present.append(piece)
        if isFirst, decoded.unicodeScalars.first == "\u{FEFF}" { decoded = String(decoded.unicodeScalars.dropFirst()) }
        guard !decoded.unicodeScalars.contains("\0") else {
            hasGivenUp = true
            endsWithLineBreak = true
            return Array("(bytes that are not text; use -o FILE, --download or a pipe)\n".utf8)
        }
        let bytes = TerminalText(foreign: decoded).bytes
        if let last = bytes.last { endsWithLineBreak = last == 0x0A }
        return bytes
    }

    private func line(_ bytes: Data) -> [UInt8] {
        // RFC 7464 puts a record separator in front of each value.
        let text = String(decoding: bytes.drop { $0 == 0x1E }, as: UTF8.self).trimmingCharacters(in: .whitespaces)
        return text.isEmpty ? [] : (self.text.json(text) + "\n").bytes
    }

    private mutating func selected(_ path: ValuePath) -> [UInt8] {
        do {
            return try path.selected(from: MessageText.text(held, type: type, charset: charset) ?? "").flatMap(line)
        } catch {
            failure = error.plainText
            return []
        }
    }

    /// Returns the line of a selected value: a string without quotes, other values formatted as JSON.
    private func line(_ value: JSONNode) -> [UInt8] {
        if case .string = value {
        } else if text.appearance.isFormatted || text.appearance.isColoured {
            return (text.json(value.text) + "\n").bytes
        }
        let line = value.plainText + "\n"
        return Terminal.isOutput ? TerminalText(foreign: line).bytes : Array(line.utf8)
    }
}

/// Splits an event stream after each empty line that ends a block (WHATWG HTML §9.2.5), and changes no bytes.
struct EventSplitter {
    /// The bytes after the last complete block.
    private(set) var rest: [UInt8] = []
    /// The number of scanned bytes of `rest`, and the index at which its current line begins.
    private var scanned = 0
    private var lineStart = 0
    /// Whether the last block ended with a CR: an LF directly after it belongs to the same line end.
    private var followsCarriageReturn = false

    /// Adds bytes, and returns the blocks that are now complete, each with the empty line that ends it.
    mutating func take(_ piece: Data) -> [[UInt8]] {
        rest.append(contentsOf: piece)
        var blocks: [[UInt8]] = []
        var blockStart = 0
        while scanned < rest.count {
            let byte = rest[scanned]
            scanned += 1
            guard byte == 0x0A || byte == 0x0D else { continue }
            let isAfterReturn = scanned >= 2 ? rest[scanned - 2] == 0x0D : followsCarriageReturn
            let isSecondHalf = byte == 0x0A && isAfterReturn
            let isEmpty = scanned - 1 == lineStart
            // The LF of a CRLF does not end a second line.
            if isEmpty, !isSecondHalf {
                if byte == 0x0D, scanned < rest.count, rest[scanned] == 0x0A { scanned += 1 }
                blocks.append(Array(rest[blockStart..<scanned]))
                blockStart = scanned
            }
            lineStart = scanned
        }
        if blockStart > 0 { followsCarriageReturn = rest[blockStart - 1] == 0x0D }
        rest.removeFirst(blockStart)
        scanned -= blockStart
        lineStart -= blockStart
        return blocks
    }
}
