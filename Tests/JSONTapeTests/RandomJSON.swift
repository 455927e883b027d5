import Foundation

/// Random documents, the same ones for each seed.
struct RandomJSON: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state ^ state >> 33) &* 0xFF51_AFD7_ED55_8CCD
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int(next() >> 8) % elements.count]
    }

    private mutating func string() -> String {
        pick([
            "\"\"", "\"name\"", "\"age\"", "\"mail\"", "\"first_name\"", "\"\\u006eame\"", "\"é\"", "\"😀\"",
            "\"\\ud83d\\ude00\"",
            "\"\\ud800\"", "\"a\\n\"",
        ])
    }

    mutating func value(depth: Int) -> String {
        let space = pick(["", "", " ", "\n"])
        switch Int(next() >> 8) % (depth > 4 ? 4 : 7) {
        case 0: return pick(["null", "true", "false"])
        case 1, 2: return space + pick(["0", "-1", "1.5", "1e2", "-0", "123456789012", "1e400", "0.1", "01"])
        case 3: return string() + space
        case 4:
            let members = (0..<Int(next() >> 8) % 5).map { _ in value(depth: depth + 1) }
            return "[" + members.joined(separator: space + ",") + "]"
        default:
            let members = (0..<Int(next() >> 8) % 5).map { _ in string() + space + ":" + value(depth: depth + 1) }
            return "{" + members.joined(separator: "," + space) + "}"
        }
    }

    mutating func mutated(_ text: String) -> Data {
        var data = Data(text.utf8)
        let place = Int(next() >> 8) % data.count
        switch next() >> 8 & 7 {
        case 0: data[place] = UInt8(truncatingIfNeeded: next() >> 8)
        case 1: data.remove(at: place)
        case 2: data.append(pick([0x20, 0x5D, 0x7D, 0x2C, 0x00]))
        default: break
        }
        return data
    }
}
