// Streamed content: lines, JSON Lines, server-sent events.

import Fireweed
import Foundation

extension FuzzTarget {
    static let lines = FuzzTarget("lines") { bytes in
        for terminator in [LineSplitter.Terminator.lineFeed, .any] {
            let found = try bytes.cuttings.map { try LinesFound($0, terminator: terminator) }
            try expectEqual(found[0], found[1], "lines do not depend on pieces")
            try expectEqual(found[0], found[2], "lines do not depend on pieces")
            try expect(found[0].lines.allSatisfy { $0.count <= LinesFound.limit }, "a line keeps to the limit")
            guard !found[0].isTooLong else { continue }
            try expectEqual(found[0].lines, LinesFound.model(bytes, terminator), "lines are what stands between ends")
        }
    }

    static let jsonLines = FuzzTarget("json-lines") { bytes in
        let serializer = DecodableStreamSerializer<JSONText>()
        for line in try LinesFound([bytes], terminator: .lineFeed).lines {
            guard let value = try? serializer.serialize(Data(line)) else { continue }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            var again = try encoder.encode([value])
            again.append(0x0A)
            let lines = try LinesFound([Array(again)[...]], terminator: .lineFeed).lines
            try expectEqual(lines.count, 1, "a value is one line")
            let list = DecodableStreamSerializer<[JSONText]>()
            try expectEqual(try list.serialize(Data(lines[0])), [value], "a value survives being written")
        }
    }

    static let serverSentEvents = FuzzTarget("server-sent-events") { bytes in
        let found = bytes.cuttings.map { EventsFound($0) }
        try expectEqual(found[0], found[1], "events do not depend on pieces")
        try expectEqual(found[0], found[2], "events do not depend on pieces")
        for event in found[0].events {
            // What is no UTF-8 grows when it is replaced.
            try expect(event.data.utf8.count <= 3 * EventsFound.limit, "an event keeps to the limit")
            try expect(!event.event.isEmpty, "an event has a type")
            try expect(!event.event.hasByte("\n") && !event.event.hasByte("\r"), "a type is one line")
            try expect(event.id.map { !$0.hasByte("\n") && !$0.hasByte("\0") } ?? true, "an ID is one line without NUL")
            if let retry = event.retry {
                try expect(retry >= .zero && retry <= .seconds(365 * 86_400), "a time is no longer than a year")
            }
        }
        guard !found[0].isTooLong else { return }
        try expectEqual(found[0].events, EventModel.events(in: bytes), "events are as the standard has it")
    }
}

/// What a splitter makes of pieces.
private struct LinesFound: Equatable {
    static let limit = 256
    var lines: [[UInt8]] = []
    var isTooLong = false

    init(_ pieces: [ArraySlice<UInt8>], terminator: LineSplitter.Terminator) throws {
        var splitter = LineSplitter(terminator: terminator, maximumByteCount: Self.limit)
        for piece in pieces {
            splitter.append(piece)
            do {
                while let line = try splitter.next() { lines.append(Array(line)) }
            } catch {
                isTooLong = true
                return
            }
        }
        if let rest = splitter.finish() { lines.append(Array(rest)) }
        try expect(splitter.finish() == nil, "nothing is left after the end")
    }

    /// The lines, the simple way: all of the content is there.
    static func model(_ bytes: ArraySlice<UInt8>, _ terminator: LineSplitter.Terminator) -> [[UInt8]] {
        var bytes = Array(bytes)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
        var lines: [[UInt8]] = []
        var line: [UInt8] = []
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if byte == 0x0A || byte == 0x0D && terminator == .any {
                if byte == 0x0D, index < bytes.count, bytes[index] == 0x0A { index += 1 }
                lines.append(line)
                line = []
            } else {
                line.append(byte)
            }
        }
        return line.isEmpty ? lines : lines + [line]
    }
}

/// What the parser makes of pieces.
private struct EventsFound: Equatable {
    static let limit = 512
    var events: [ServerSentEvent] = []
    var isTooLong = false
    var lastEventID = ""
    var reconnectionTime: Duration?

    init(_ pieces: [ArraySlice<UInt8>]) {
        var parser = ServerSentEventParser(maximumEventByteCount: Self.limit)
        do {
            for piece in pieces {
                parser.append(piece)
                while let event = try parser.next() { events.append(event) }
            }
        } catch {
            isTooLong = true
        }
        lastEventID = parser.lastEventID
        reconnectionTime = parser.reconnectionTime
    }
}

/// The rules of WHATWG HTML §9.2.6 for content that is all there.
private enum EventModel {
    static func events(in bytes: ArraySlice<UInt8>) -> [ServerSentEvent] {
        var text = String(decoding: bytes, as: UTF8.self).unicodeScalars[...]
        if text.first == "\u{FEFF}" { text = text.dropFirst() }
        var events: [ServerSentEvent] = []
        var (data, type, id, identifier) = ([String](), "", "", "")
        var retry: Duration?
        for line in wholeLines(text) {
            guard !line.isEmpty else {
                identifier = id
                if !data.isEmpty {
                    events.append(
                        ServerSentEvent(
                            event: type.isEmpty ? "message" : type, data: data.joined(separator: "\n"),
                            id: identifier.isEmpty ? nil : identifier, retry: retry))
                }
                (data, type, retry) = ([], "", nil)
                continue
            }
            let colon = line.firstIndex(of: ":")
            guard colon != line.startIndex else { continue }
            var value = colon.map { line[line.index(after: $0)...] } ?? line[line.endIndex...]
            if value.first == " " { value = value.dropFirst() }
            let content = String(String.UnicodeScalarView(value))
            switch String(String.UnicodeScalarView(line[..<(colon ?? line.endIndex)])) {
            case "data": data.append(content)
            case "event": type = content
            case "id": if !value.contains("\0") { id = content }
            case "retry" where !value.isEmpty && value.allSatisfy { ("0"..."9").contains($0) }:
                retry = .milliseconds(min(Int64(content) ?? .max, 365 * 86_400_000))
            default: break
            }
        }
        return events
    }

    private static func wholeLines(_ text: Substring.UnicodeScalarView) -> [Substring.UnicodeScalarView] {
        var lines: [Substring.UnicodeScalarView] = []
        var rest = text
        while let end = rest.firstIndex(where: { $0 == "\n" || $0 == "\r" }) {
            lines.append(rest[..<end])
            let isPair = rest[end] == "\r" && rest[rest.index(after: end)...].first == "\n"
            rest = rest[rest.index(end, offsetBy: isPair ? 2 : 1)...]
        }
        return lines
    }
}
