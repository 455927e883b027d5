// Content on its way to standard output; pure.

import Fireweed
import Foundation

/// Says what to write for each piece of content.
struct ContentPrinter {
    /// How content is written.
    enum Form {
        /// Byte for byte, as it comes.
        case bytes
        /// As text for a terminal, as it comes.
        case text
        /// Formatted for a terminal, when all of it is there.
        case whole(type: String?)
        /// One server-sent event at a time: byte for byte, or for a terminal.
        case events(areRaw: Bool)
    }

    private let form: Form
    private let text: MessageText
    private var held = Data()
    private var streamed = StreamText()
    private var splitter = EventSplitter()
    private var hasGivenUp = false

    init(form: Form, text: MessageText) {
        self.form = form
        self.text = text
    }

    /// What to write now that a piece came.
    mutating func take(_ piece: Data) -> [UInt8] {
        switch form {
        case .bytes: return Array(piece)
        case .whole:
            held.append(piece)
            return []
        case .text: return shown(piece)
        case .events(let areRaw):
            return splitter.take(piece).flatMap { areRaw ? $0 : text.event($0).bytes }
        }
    }

    /// What to write at the end.
    mutating func finish() -> [UInt8] {
        switch form {
        case .bytes: []
        case .whole(let type): text.content(held, type: type).bytes
        case .text: streamed.finish().map { TerminalText(foreign: $0).bytes } ?? []
        case .events(let areRaw):
            // What is left is no event, but it came: a pipe gets every byte.
            areRaw ? splitter.rest : []
        }
    }

    private mutating func shown(_ piece: Data) -> [UInt8] {
        guard !hasGivenUp else { return [] }
        guard !piece.contains(0) else {
            hasGivenUp = true
            return Array("\n(bytes that are no text; use -o FILE, --download or a pipe)\n".utf8)
        }
        return TerminalText(foreign: streamed.append(piece)).bytes
    }
}

/// Cuts an event stream behind each empty line that ends a block (WHATWG HTML §9.2.5), and changes nothing.
struct EventSplitter {
    /// What came after the last whole block.
    private(set) var rest: [UInt8] = []
    /// Up to where `rest` has been looked at, and where its present line begins.
    private var scanned = 0
    private var lineStart = 0
    /// The last block ended with a CR; an LF that follows belongs to it.
    private var followsCarriageReturn = false

    /// The blocks that are whole now, each with the empty line that ends it.
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
            // The LF of a CRLF ends nothing by itself: it goes where its CR went.
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
