import Foundation
import Testing

@testable import JSONTape

@Suite("Bounds of JSON by a tape")
struct JSONTapeBoundTests {
    /// Keeps its decoder where the next test finds it.
    private struct Keeper: Decodable {
        nonisolated(unsafe) static var decoders: [any Decoder] = []  // SAFETY: one test uses it, once.
        init(from decoder: any Decoder) throws { Self.decoders.append(decoder) }
    }

    @Test("a decoder that a type keeps is of use after the call, and Foundation decodes")
    func kept() throws {
        for count in [1, 10_000] {
            var data: Data? = Data("[\(Array(repeating: "\"abc\"", count: count).joined(separator: ","))]".utf8)
            #expect((try? JSONTape(JSONDecoder())?.decode(Keeper.self, from: data ?? Data())) == nil)
            data = nil
            let kept = Keeper.decoders.popLast()
            let decoder = try #require(kept)
            #expect(try [String](from: decoder).filter { $0 == "abc" }.count == count)
        }
    }

    @Test(
        "content that ends with the bracket of the 513th array is an error, and does not end the process",
        arguments: [
            String.Encoding.utf8, .utf16LittleEndian, .utf16BigEndian, .utf32LittleEndian, .utf32BigEndian,
        ])
    func deepest(encoding: String.Encoding) throws {
        for text in ["", "[1,", "{\"a\":", "   "].map({ String(repeating: $0, count: 512) + "[" })
            + (511...515).map({ String(repeating: "[", count: $0) })
        {
            let data = try #require(text.data(using: encoding))
            #expect(throws: DecodingError.self) { try JSONDecoder().decodeWithoutTrap([Int].self, from: data) }
        }
    }

    @Test("content that ends anywhere is refused, whatever it has opened", arguments: [1, 4, 100, 499, 500, 501])
    func prefixes(depth: Int) throws {
        for opening in ["[", "{\"\":", "[{\"a\":[0,"] {
            let text = String(repeating: opening, count: depth) + "1,1,1,\"a\",[[[{\"\":1,\"\":2"
            var storage = [UInt64](repeating: 7, count: Scanner.wordCount(text.utf8.count) + 16)
            for count in stride(from: 0, through: text.utf8.count, by: max(1, text.utf8.count / 200)) {
                let bytes = Array(text.utf8.prefix(count))
                let wordCount = Scanner.wordCount(count)
                let isRefused = storage.withUnsafeMutableBufferPointer { words in
                    bytes.withUnsafeBufferPointer { bytes in
                        for index in wordCount..<words.count { words[index] = 7 }
                        guard count > 0, let address = words.baseAddress else { return true }
                        return Scanner(bytes, address).scan() == nil
                    }
                }
                #expect(isRefused && storage[wordCount...].allSatisfy { $0 == 7 })
            }
        }
    }

    /// One type or the other at each depth.
    private indirect enum Either: Decodable {
        struct Child: Decodable { var child: Either }
        struct Leaf: Decodable { var leaf: Int }
        case first(Child), second(Child), leaf(Int)
        init(from decoder: any Decoder) throws {
            if let child = try? Child(from: decoder) {
                self = .first(child)
            } else if let child = try? Child(from: decoder) {
                self = .second(child)
            } else {
                self = .leaf(try Leaf(from: decoder).leaf)
            }
        }
    }

    @Test("types that try one thing after the other at each depth take no time out of proportion")
    func alternatives() {
        let text = String(repeating: "{\"child\":", count: 200) + "{\"leaf\":1.0}" + String(repeating: "}", count: 200)
        #expect((try? JSONTape(JSONDecoder())?.decode(Either.self, from: Data(text.utf8))) == nil)
    }

    @Test(
        "a loop to the end of an array ends where a member is refused",
        arguments: ["[1,-0.0e1,2]", "[1,5e-324]", "[1.0,2]", "[{},{\"a\":1,\"a\":2}]", "[[1.0]]"])
    func endlessLoop(text: String) {
        struct Lossy<Value: Decodable>: Decodable {
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                while !container.isAtEnd {
                    _ = try? container.decode(Value.self)
                    _ = try? container.nestedUnkeyedContainer()
                }
            }
        }
        #expect((try? JSONTape(JSONDecoder())?.decode(Lossy<Int>.self, from: Data(text.utf8))) == nil)
        #expect((try? JSONTape(JSONDecoder())?.decode(Lossy<[String: Int]>.self, from: Data(text.utf8))) == nil)
    }

    @Test("paths that are asked for by many members take no time out of proportion")
    func manyPaths() throws {
        struct Path: Decodable {
            init(from decoder: any Decoder) throws { _ = decoder.codingPath.last?.stringValue }
        }
        let text = "[\(Array(repeating: "1", count: 200_000).joined(separator: ","))]"
        let tape = try #require(JSONTape(JSONDecoder()))
        let bytes = Array(text.utf8)
        let stepCount = try bytes.withUnsafeBufferPointer { content in
            let document = try #require(Document(content, tape))
            _ = try? document.value([Path].self, 0)
            return document.effort
        }
        #expect(stepCount < 2_000_000)
    }
}
