// The published case list of the Autobahn test suite, as values: what its fuzzing server sends, and what has to come
// back.

import FixtureServer
import Foundation
import Testing

/// One case, by the number that it has there.
struct ConformanceCase: Sendable, CustomTestStringConvertible {
    typealias Frame = WebSocketPeer.Frame

    /// What the testee has to do, which sends back every message that it gets.
    enum Outcome: Sendable {
        /// It answers these frames; the peer then closes with 1000, and the testee answers that.
        case clean([Frame])
        /// It closes with this code; `allowed` may have been answered before.
        case failure(UInt16, allowed: [Frame] = [])
        /// The peer's own close frame is among what it sends; it is answered with this code (0: none), after these
        /// frames.
        case closed(UInt16, after: [Frame] = [])
    }

    let number: String
    let frames: [Frame]
    /// Most bytes in one write; everything at once by default.
    var size = Int.max
    let outcome: Outcome

    var testDescription: String { number }
}

extension ConformanceCase {
    static let all =
        echoes + pings + reservedBits + opcodes + fragmentation + UTF8Cases.all + closes + closeCodes + large

    private static func text(_ text: String, isFinal: Bool = true, reserved: UInt8 = 0) -> Frame {
        Frame(1, Array(text.utf8), isFinal: isFinal, reserved: reserved)
    }
    private static func more(_ text: String, isFinal: Bool = true) -> Frame {
        Frame(0, Array(text.utf8), isFinal: isFinal)
    }
    private static func ping(_ text: String = "") -> Frame { Frame(9, Array(text.utf8)) }
    private static func pong(_ text: String = "") -> Frame { Frame(10, Array(text.utf8)) }
    private static func close(_ code: UInt16, _ reason: [UInt8] = []) -> Frame {
        Frame(8, [UInt8(code >> 8), UInt8(code & 0xFF)] + reason)
    }

    // MARK: 1 Framing

    private static let echoes: [ConformanceCase] = [(1, UInt8(1)), (2, 2)].flatMap { section, opcode in
        [0, 125, 126, 127, 128, 65535, 65536, 65536].enumerated().map { index, count in
            let frame = Frame(opcode, [UInt8](repeating: opcode == 1 ? 0x2A : 0xFE, count: count))
            return ConformanceCase(
                number: "1.\(section).\(index + 1)", frames: [frame], size: index == 7 ? 997 : .max,
                outcome: .clean([frame]))
        }
    }

    // MARK: 2 Pings and pongs

    private static let pings: [ConformanceCase] = {
        let binary = Frame(9, [0x00, 0xFF, 0xFE, 0xFD, 0xFC, 0xFB, 0x00, 0xFF])
        let longest = Frame(9, [UInt8](repeating: 0xFE, count: 125))
        let ten = (0..<10).map { ping("payload-\($0)") }
        let answers = (0..<10).map { pong("payload-\($0)") }
        return [
            .init(number: "2.1", frames: [ping()], outcome: .clean([pong()])),
            .init(number: "2.2", frames: [ping("Hello, world!")], outcome: .clean([pong("Hello, world!")])),
            .init(number: "2.3", frames: [binary], outcome: .clean([Frame(10, binary.payload)])),
            .init(number: "2.4", frames: [longest], outcome: .clean([Frame(10, longest.payload)])),
            .init(number: "2.5", frames: [Frame(9, longest.payload + [0xFE])], outcome: .failure(1002)),
            .init(number: "2.6", frames: [longest], size: 1, outcome: .clean([Frame(10, longest.payload)])),
            .init(number: "2.7", frames: [pong()], outcome: .clean([])),
            .init(number: "2.8", frames: [pong("unsolicited")], outcome: .clean([])),
            .init(number: "2.9", frames: [pong("unsolicited"), ping("x")], outcome: .clean([pong("x")])),
            .init(number: "2.10", frames: ten, outcome: .clean(answers)),
            .init(number: "2.11", frames: ten, size: 1, outcome: .clean(answers)),
        ]
    }()

    // MARK: 3 Reserved bits

    private static let reservedBits: [ConformanceCase] = {
        let good = text("Hello, world!")
        func bad(_ reserved: UInt8) -> Frame { text("Hello, world!", reserved: reserved) }
        return [
            .init(number: "3.1", frames: [bad(1)], outcome: .failure(1002)),
            .init(number: "3.2", frames: [good, bad(2), ping()], outcome: .failure(1002, allowed: [good])),
            .init(number: "3.3", frames: [good, bad(3), ping()], size: 15, outcome: .failure(1002, allowed: [good])),
            .init(number: "3.4", frames: [good, bad(4), ping()], size: 1, outcome: .failure(1002, allowed: [good])),
            .init(number: "3.5", frames: [Frame(2, [0, 0xFF], reserved: 5)], outcome: .failure(1002)),
            .init(number: "3.6", frames: [Frame(9, [0x78], reserved: 6)], outcome: .failure(1002)),
            .init(number: "3.7", frames: [Frame(8, [0x03, 0xE8], reserved: 7)], outcome: .failure(1002)),
        ]
    }()

    // MARK: 4 Opcodes

    private static let opcodes: [ConformanceCase] = [(1, UInt8(3)), (2, 11)].flatMap { section, first in
        (0..<5).map { index in
            let bad = Frame(first + UInt8(index), index == 0 || index == 2 ? [] : Array("reserved".utf8))
            let good = text("Hello, world!")
            return ConformanceCase(
                number: "4.\(section).\(index + 1)", frames: index < 2 ? [bad] : [good, bad, ping()],
                size: index == 4 ? 1 : .max, outcome: .failure(1002, allowed: index < 2 ? [] : [good]))
        }
    }

    // MARK: 5 Fragmentation

    private static let fragmentation: [ConformanceCase] = {
        let halves = [text("fragment1", isFinal: false), more("fragment2")]
        let whole = text("fragment1fragment2")
        let lonely = [more("non-continuation payload"), text("Hello, world!")]
        let lonelyOpen = [more("non-continuation payload", isFinal: false), text("Hello, world!")]
        let mixed = [halves[0], ping("ping payload"), halves[1]]
        let tail = [more("fragment3", isFinal: false), text("fragment4")]
        let repeated = [more("fragment1", isFinal: false), more("fragment2", isFinal: false), text("fragment3")]
        let five = [
            text("fragment1", isFinal: false), more("fragment2", isFinal: false), ping("pongme 1"),
            more("fragment3", isFinal: false), more("fragment4", isFinal: false), ping("pongme 2"), more("fragment5"),
        ]
        let fiveAnswers = [pong("pongme 1"), pong("pongme 2"), text("fragment1fragment2fragment3fragment4fragment5")]
        return [
            .init(
                number: "5.1", frames: [Frame(9, [1], isFinal: false), Frame(0, [2])], outcome: .failure(1002)),
            .init(
                number: "5.2", frames: [Frame(10, [1], isFinal: false), Frame(0, [2])], outcome: .failure(1002)),
            .init(number: "5.3", frames: halves, outcome: .clean([whole])),
            .init(number: "5.4", frames: halves, size: 11, outcome: .clean([whole])),
            .init(number: "5.5", frames: halves, size: 1, outcome: .clean([whole])),
            .init(number: "5.6", frames: mixed, outcome: .clean([pong("ping payload"), whole])),
            .init(number: "5.7", frames: mixed, size: 11, outcome: .clean([pong("ping payload"), whole])),
            .init(number: "5.8", frames: mixed, size: 1, outcome: .clean([pong("ping payload"), whole])),
            .init(number: "5.9", frames: lonely, outcome: .failure(1002)),
            .init(number: "5.10", frames: lonely, size: 26, outcome: .failure(1002)),
            .init(number: "5.11", frames: lonely, size: 1, outcome: .failure(1002)),
            .init(number: "5.12", frames: lonelyOpen, outcome: .failure(1002)),
            .init(number: "5.13", frames: lonelyOpen, size: 26, outcome: .failure(1002)),
            .init(number: "5.14", frames: lonelyOpen, size: 1, outcome: .failure(1002)),
            .init(number: "5.15", frames: halves + tail, outcome: .failure(1002, allowed: [whole])),
            .init(number: "5.16", frames: repeated + repeated, outcome: .failure(1002)),
            .init(
                number: "5.17", frames: [more("fragment1"), more("fragment2"), text("fragment3")],
                outcome: .failure(1002)),
            .init(number: "5.18", frames: [halves[0], text("fragment2")], outcome: .failure(1002)),
            .init(number: "5.19", frames: five, outcome: .clean(fiveAnswers)),
            .init(number: "5.20", frames: five, size: 1, outcome: .clean(fiveAnswers)),
        ]
    }()

    // MARK: 7 Closing

    private static let closes: [ConformanceCase] = {
        let hello = text("Hello World!")
        let start = text("fragment1", isFinal: false)
        let big = text(String(repeating: "BAsd7&jh23", count: 26_214))
        let reason = [UInt8](repeating: 0x2A, count: 123)
        return [
            .init(number: "7.1.1", frames: [hello], outcome: .clean([hello])),
            .init(number: "7.1.2", frames: [close(1000), close(1000)], outcome: .closed(1000)),
            .init(number: "7.1.3", frames: [close(1000), ping()], outcome: .closed(1000)),
            .init(number: "7.1.4", frames: [close(1000), hello], outcome: .closed(1000)),
            .init(number: "7.1.5", frames: [start, close(1000), more("fragment2")], outcome: .closed(1000)),
            .init(
                number: "7.1.6", frames: [big, hello, close(1000), ping()], outcome: .closed(1000, after: [big, hello])),
            .init(number: "7.3.1", frames: [Frame(8)], outcome: .closed(0)),
            .init(number: "7.3.2", frames: [Frame(8, [0x61])], outcome: .failure(1002)),
            .init(number: "7.3.3", frames: [close(1000)], outcome: .closed(1000)),
            .init(number: "7.3.4", frames: [close(1000, Array("Hello World!".utf8))], outcome: .closed(1000)),
            .init(number: "7.3.5", frames: [close(1000, reason)], outcome: .closed(1000)),
            .init(number: "7.3.6", frames: [close(1000, reason + [0x2A])], outcome: .failure(1002)),
            .init(
                number: "7.5.1",
                frames: [close(1000, [0xCE, 0xBA, 0xE1, 0xBD, 0xB9, 0xCF, 0x83, 0xED, 0xA0, 0x80, 0x65, 0x64])],
                outcome: .failure(1007)),
        ]
    }()

    private static let closeCodes: [ConformanceCase] = {
        let valid: [UInt16] = [
            1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999,
        ]
        let invalid: [UInt16] = [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999]
        return valid.enumerated().map { index, code in
            .init(number: "7.7.\(index + 1)", frames: [close(code)], outcome: .closed(code))
        }
            + invalid.enumerated().map { index, code in
                .init(number: "7.9.\(index + 1)", frames: [close(code)], outcome: .failure(1002))
            }
            + [UInt16(5000), 65535].enumerated().map { index, code in
                // Undefined by the RFC; the published suite only notes what happens.
                .init(number: "7.13.\(index + 1)", frames: [close(code)], outcome: .failure(1002))
            }
    }()

    // MARK: 9 and 10 Large messages and fragments

    private static let large: [ConformanceCase] = {
        func message(_ opcode: UInt8, _ count: Int) -> [UInt8] {
            [UInt8](repeating: opcode == 1 ? 0x2A : 0xFE, count: count)
        }
        func fragments(_ opcode: UInt8, _ count: Int, _ size: Int) -> [Frame] {
            let bytes = message(opcode, count)
            return stride(from: 0, to: count, by: size).map { start in
                let end = min(start + size, count)
                return Frame(start == 0 ? opcode : 0, Array(bytes[start..<end]), isFinal: end == count)
            }
        }
        let sizes = [1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 23, 1 << 24]
        var cases: [ConformanceCase] = []
        for (section, opcode) in [(1, UInt8(1)), (2, 2)] {
            for (index, count) in sizes.enumerated() {
                let frame = Frame(opcode, message(opcode, count))
                cases.append(.init(number: "9.\(section).\(index + 1)", frames: [frame], outcome: .clean([frame])))
            }
            for (index, size) in [64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304].enumerated() {
                cases.append(
                    .init(
                        number: "9.\(section + 2).\(index + 1)", frames: fragments(opcode, 1 << 22, size),
                        outcome: .clean([Frame(opcode, message(opcode, 1 << 22))])))
            }
            for (index, size) in [64, 128, 256, 512, 1024, 2048].enumerated() {
                let frame = Frame(opcode, message(opcode, 1 << 20))
                cases.append(
                    .init(
                        number: "9.\(section + 4).\(index + 1)", frames: [frame], size: size, outcome: .clean([frame])))
            }
            for (index, count) in [0, 16, 64, 256, 1024, 4096].enumerated() {
                let frames = [Frame](repeating: Frame(opcode, message(opcode, count)), count: 1000)
                cases.append(.init(number: "9.\(section + 6).\(index + 1)", frames: frames, outcome: .clean(frames)))
            }
        }
        cases.append(
            .init(
                number: "10.1.1", frames: fragments(1, 65536, 1300), outcome: .clean([Frame(1, message(1, 65536))])))
        return cases
    }()
}
