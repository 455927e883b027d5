import Foundation
import Testing

@testable import Fireweed

@Suite("Parsing event streams as WHATWG HTML §9.2 says")
struct ServerSentEventParserTests {
    private struct Outcome: Equatable {
        var events: [ServerSentEvent] = []
        var lastEventID = ""
        var retry: Duration?
    }

    private func parse(_ pieces: [[UInt8]], limit: Int = 1000) throws -> Outcome {
        var parser = ServerSentEventParser(maximumEventByteCount: limit)
        var outcome = Outcome()
        for piece in pieces {
            parser.append(piece)
            while let event = try parser.next() { outcome.events.append(event) }
        }
        outcome.lastEventID = parser.lastEventID
        outcome.retry = parser.reconnectionTime
        return outcome
    }

    typealias Row = (name: String, text: String, events: [ServerSentEvent])

    static let rows: [Row] = [
        ("one line of data", "data: hello\n\n", [.init(data: "hello")]),
        ("without the space", "data:hello\n\n", [.init(data: "hello")]),
        ("one space is dropped, and no more", "data:  hello \n\n", [.init(data: " hello ")]),
        ("a tab is no space", "data:\thello\n\n", [.init(data: "\thello")]),
        ("lines are joined by LF", "data: a\ndata: b\ndata:\ndata: c\n\n", [.init(data: "a\nb\n\nc")]),
        ("empty data is data", "data\n\n", [.init(data: "")]), ("and so is this", "data:\n\n", [.init(data: "")]),
        ("two empty lines of data", "data\ndata\n\n", [.init(data: "\n")]),
        ("no data, no event", "event: x\nid: 1\n\n", []),
        (
            "a type holds for one event", "event: add\ndata: 1\n\ndata: 2\n\n",
            [.init(event: "add", data: "1"), .init(data: "2")]
        ),
        ("a type without data is forgotten", "event: add\n\ndata: 2\n\n", [.init(data: "2")]),
        ("the last type counts, and an empty one is none", "event: a\nevent:\ndata: 1\n\n", [.init(data: "1")]),
        ("comments", ": hello\n:\n::data: x\ndata: 1\n:\n\n", [.init(data: "1")]),
        ("unknown fields, and names that are not quite right", "Data: 1\n data: 2\nfoo\ndata : 3\n\n", []),
        ("a value may hold colons", "data: a: b:c\n\n", [.init(data: "a: b:c")]),
        (
            "an ID stays until another comes", "id: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
            [.init(data: "a", id: "7"), .init(data: "b", id: "7"), .init(data: "c")]
        ),
        (
            "an ID with NUL is ignored", "id: 1\ndata: a\n\nid: 2\u{0}3\ndata: b\n\n",
            [.init(data: "a", id: "1"), .init(data: "b", id: "1")]
        ),
        ("an ID counts without data too", "id: 9\n\ndata: a\n\n", [.init(data: "a", id: "9")]),
        ("NUL in data is data", "data: a\u{0}b\n\n", [.init(data: "a\u{0}b")]),
        ("CR", "data: a\rdata: b\r\rdata: c\r\r", [.init(data: "a\nb"), .init(data: "c")]),
        ("CRLF", "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", [.init(data: "a\nb"), .init(data: "c")]),
        ("all three", "data: a\r\ndata: b\rdata: c\n\r\ndata: d\n\r", [.init(data: "a\nb\nc"), .init(data: "d")]),
        ("a byte order mark", "\u{FEFF}data: a\n\n", [.init(data: "a")]),
        ("two byte order marks", "\u{FEFF}\u{FEFF}data: a\n\ndata: b\n\n", [.init(data: "b")]),
        ("what has no empty line behind it is no event", "data: a\n\ndata: b\n", [.init(data: "a")]),
        ("nor is this", "data: a", []), ("nothing", "", []), ("empty lines", "\n\n\r\r\n\n", []),
        ("characters of two, three and four bytes", "data: é∮😀\n\n", [.init(data: "é∮😀")]),
        (
            "a retry comes with its event", "retry: 10\ndata: a\n\ndata: b\n\n",
            [.init(data: "a", retry: .milliseconds(10)), .init(data: "b")]
        ),
    ]

    @Test("however the bytes were cut, the events are the same", arguments: rows)
    func everyCut(row: Row) throws {
        let wrong = try cuts(of: Array(row.text.utf8)).filter { try parse($0).events != row.events }
        #expect(wrong == [], "\(row.name)")
    }

    @Test("and so they are when all of it comes in three pieces")
    func threePieces() throws {
        let text = "\u{FEFF}id: 1\r\nevent: é\r\ndata: a\r\rdata: b\n\r\nretry: 5\r\n\r\n"
        let bytes = Array(text.utf8)
        let whole = try parse([bytes])
        #expect(whole.events.count == 2 && whole.lastEventID == "1" && whole.retry == .milliseconds(5))
        var wrong: [[[UInt8]]] = []
        for first in 0...bytes.count {
            for second in first...bytes.count {
                let pieces = [Array(bytes[..<first]), Array(bytes[first..<second]), Array(bytes[second...])]
                if try parse(pieces) != whole { wrong.append(pieces) }
            }
        }
        #expect(wrong == [])
    }

    @Test("bytes that are no UTF-8 become U+FFFD, and lines stay lines")
    func invalid() throws {
        let bytes = Array("data: ".utf8) + [0xFF, 0xE2, 0x82] + Array("\ndata: x\n\n".utf8)
        for pieces in cuts(of: bytes) {
            #expect(try parse(pieces).events == [.init(data: "\u{FFFD}\u{FFFD}\nx")])
        }
    }

    @Test(
        "a reconnection time is digits",
        arguments: [
            ("1500", Duration.milliseconds(1500)), ("0", .zero), ("007", .milliseconds(7)), ("", nil), ("-1", nil),
            ("1.5", nil), ("1s", nil), (" 2", nil), ("٣", nil), ("+3", nil),
            ("99999999999999999999999999", .seconds(365 * 86_400)),  // more than fits: a year
        ])
    func retry(value: String, expected: Duration?) throws {
        #expect(try parse([Array("retry: \(value)\n".utf8)]).retry == expected)
    }

    @Test("an ID is in force from the empty line on, and a restart forgets one that is not")
    func idInForce() throws {
        var parser = ServerSentEventParser(lastEventID: "0", maximumEventByteCount: 100)
        parser.append(Array("id: 1\ndata: lost".utf8))
        #expect(try parser.next() == nil && parser.lastEventID == "0")
        parser.restart()
        parser.append(Array("data: a\n\n".utf8))
        #expect(try parser.next() == .init(data: "a", id: "0"))
    }

    @Test("neither a line nor an event may be longer than the limit")
    func limits() throws {
        let longest = "data: \(String(repeating: "x", count: 50))\n\n"
        #expect(try parse([Array(longest.utf8)], limit: 50).events.count == 1)
        let lines = String(repeating: "data: 123456789\n", count: 5) + "\n"  // 49 bytes with the line feeds between
        #expect(try parse([Array(lines.utf8)], limit: 49).events.count == 1)
        for text in [lines, String(repeating: "x", count: 60), ": \(String(repeating: "y", count: 60))\n"] {
            #expect(throws: StreamedContentError.eventTooLong(limit: 48)) { try parse([Array(text.utf8)], limit: 48) }
        }
    }
}
