import Fireweed
import FireweedTransport
import Foundation
import Testing

@testable import FireweedFleet

@Suite("Stored responses as bytes in the fleet's server")
struct FleetEntryTests {
    private func head(_ value: String = "max-age=60", at time: Date = Date()) -> StoredHead {
        StoredHead(
            response: ResponseHead(status: 200, fields: [Field(name: "Cache-Control", value: value)]),
            requestTime: time, responseTime: time,
            variant: ResponseVariant(names: ["accept"], selection: Data([1]), credentials: nil))
    }

    @Test("a head and its content survive")
    func survive() throws {
        let entry = FleetEntry(head: head(), contentByteCount: 3)
        let bytes = try #require(entry.encoded(for: "k"))
        let read = try #require(FleetEntry(bytes, of: "k"))
        #expect(read.head.encoded == entry.head.encoded && read.contentByteCount == 3)
        let content = Data("one".utf8)
        let encoded = try #require(FleetEntry.encoded(content, of: entry))
        #expect(FleetEntry.content(encoded, of: read) == content)
    }

    @Test("a head under another key, and the content of another head, are nothing")
    func misplaced() throws {
        let (one, two) = (
            FleetEntry(head: head(), contentByteCount: 3), FleetEntry(head: head(), contentByteCount: 3)
        )
        let bytes = try #require(one.encoded(for: "k"))
        #expect(FleetEntry(bytes, of: "l") == nil)
        let content = try #require(FleetEntry.encoded(Data("one".utf8), of: one))
        #expect(FleetEntry.content(content, of: two) == nil)
        #expect(FleetEntry.content(content.dropLast(), of: one) == nil)
        #expect(FleetEntry.content(content + [0], of: one) == nil)
    }

    @Test("a damaged head is nothing, whichever byte it is")
    func damaged() throws {
        let bytes = try #require(FleetEntry(head: head(), contentByteCount: 3).encoded(for: "k"))
        // The length is checked with the content.
        for index in bytes.indices where !(1..<9).contains(index) {
            var damaged = bytes
            damaged[index] ^= 0x10
            #expect(FleetEntry(damaged, of: "k") == nil, "byte \(index)")
        }
        for count in bytes.indices { #expect(FleetEntry(Array(bytes.prefix(count)), of: "k") == nil) }
    }

    // MARK: Seals

    private func seal(_ place: String = "a:cache:{1}", _ keys: UInt8...) throws -> FleetSeal {
        let keys = try #require(SealingKeys(keys.map { Data(repeating: $0, count: 32) }))
        return FleetSeal(keys, place: RESPArgument(place))
    }

    @Test("a sealed head and its content survive, and show nothing")
    func sealed() throws {
        let seal = try seal("a:cache:{1}", 1)
        let entry = FleetEntry(head: head("max-age=60, private"), contentByteCount: 3)
        let bytes = try #require(entry.encoded(for: "k", seal: seal))
        let read = try #require(FleetEntry(bytes, of: "k", seal: seal))
        #expect(read.head.encoded == entry.head.encoded && read.contentByteCount == 3)
        let content = try #require(FleetEntry.encoded(Data("one".utf8), of: entry, seal: seal))
        #expect(FleetEntry.content(content, of: read, seal: seal) == Data("one".utf8))
        for value in [bytes, content] {
            for word in ["one", "private"] { #expect(Data(value).range(of: Data(word.utf8)) == nil) }
        }
        #expect(FleetEntry.content(bytes, of: read, seal: seal) == nil, "a head is no content")
        #expect(FleetEntry(content, of: "k", seal: seal) == nil)
    }

    @Test("what is sealed opens under its own key of the server alone, unchanged, and not in clear text")
    func sealedMisplaced() throws {
        let (seal, other) = (try seal("a:cache:{1}", 1), try self.seal("a:cache-2:{1}", 1))
        let (one, two) = (
            FleetEntry(head: head(), contentByteCount: 3), FleetEntry(head: head(), contentByteCount: 3)
        )
        let bytes = try #require(one.encoded(for: "k", seal: seal))
        let content = try #require(FleetEntry.encoded(Data("one".utf8), of: one, seal: seal))
        #expect(FleetEntry(bytes, of: "k", seal: other) == nil && FleetEntry(bytes, of: "k") == nil)
        #expect(FleetEntry.content(content, of: one, seal: other) == nil && FleetEntry.content(content, of: one) == nil)
        #expect(FleetEntry.content(content, of: two, seal: seal) == nil)
        let clear = try #require(one.encoded(for: "k"))
        let clearContent = try #require(FleetEntry.encoded(Data("one".utf8), of: one))
        #expect(FleetEntry(clear, of: "k", seal: seal) == nil)
        #expect(FleetEntry.content(clearContent, of: one, seal: seal) == nil)
        for index in bytes.indices where !(1..<9).contains(index) {
            var damaged = bytes
            damaged[index] ^= 1
            #expect(FleetEntry(damaged, of: "k", seal: seal) == nil, "byte \(index)")
        }
        for index in content.indices {
            var damaged = content
            damaged[index] ^= 1
            #expect(FleetEntry.content(damaged, of: one, seal: seal) == nil, "byte \(index)")
            #expect(FleetEntry.content(Array(content.prefix(index)), of: one, seal: seal) == nil)
        }
    }

    @Test("the first key seals, and every key opens")
    func rotation() throws {
        let (old, both, new) = (try seal("p", 1), try seal("p", 2, 1), try seal("p", 2))
        let entry = FleetEntry(head: head(), contentByteCount: 3)
        let (before, after) = (
            try #require(entry.encoded(for: "k", seal: old)), try #require(entry.encoded(for: "k", seal: both))
        )
        #expect(FleetEntry(before, of: "k", seal: both) != nil && FleetEntry(after, of: "k", seal: both) != nil)
        #expect(FleetEntry(before, of: "k", seal: new) == nil && FleetEntry(after, of: "k", seal: new) != nil)
        #expect(FleetEntry(after, of: "k", seal: old) == nil)
        #expect(SealingKeys([]) == nil && SealingKeys([Data(repeating: 1, count: 31)]) == nil)
    }

    @Test(
        "a reply that the script cannot give is none",
        arguments: [
            RESPValue.null, .integer(1), .array([]), .array([.integer(0), .integer(0), .null]),
            .array([.bulk(Array("x".utf8)), .integer(0), .array([])]), .array([.integer(-1), .integer(0), .array([])]),
        ])
    func malformedReply(reply: RESPValue) {
        #expect(FleetCacheReply(reply, key: "k") == nil)
    }

    @Test("foreign entries of a reply are left out")
    func foreignEntries() throws {
        let entry = FleetEntry(head: head(), contentByteCount: 3)
        let variant = RESPValue.bulk(Array(FleetEntry.variant(of: entry.head).utf8))
        let bytes = RESPValue.bulk(try #require(entry.encoded(for: "k")))
        let content = RESPValue.bulk(try #require(FleetEntry.encoded(Data("one".utf8), of: entry)))
        let entries: [RESPValue] = [
            .array([.integer(1), variant, bytes, content]), .array([.integer(1), variant, bytes, .null]),
            .array([.integer(1), variant, bytes, .bulk([1, 2, 3])]), .array([.integer(1), .null, bytes, content]),
            .array([.integer(1), .bulk([0x61]), bytes, content]), .array([.integer(1), variant, .null, content]),
            .array([.integer(1), variant, .bulk([1]), content]), .null, .array([]),
        ]
        let reply = try #require(
            FleetCacheReply(.array([.bulk(Array("7".utf8)), .integer(2), .array(entries)]), key: "k"))
        #expect(reply.revision == 7 && reply.fetch == .elsewhere)
        #expect(reply.entries.map(\.content) == [Data("one".utf8), nil])
    }
}

@Suite("Memory layer of the fleet cache")
struct FleetCacheMemoryTests {
    private func response(_ count: Int = 100, credentials: Data? = nil) -> StoredResponse {
        let head = StoredHead(
            response: ResponseHead(status: 200, fields: []), requestTime: Date(), responseTime: Date(),
            variant: ResponseVariant(names: [], selection: Data(), credentials: credentials))
        return StoredResponse(head: head, content: Data(count: count))
    }

    @Test("a response is there until its time is over")
    func time() {
        var memory = FleetCacheMemory(byteLimit: 1 << 20, lifetime: .seconds(1))
        memory.add(response(), for: "k", revision: 1, at: 10, since: memory.generation)
        #expect(memory.responses(for: "k", at: 1_000_000_009)?.responses.count == 1)
        #expect(memory.responses(for: "k", at: 1_000_000_010) == nil)
    }

    @Test("a later variant does not make an earlier one last longer")
    func variants() {
        var memory = FleetCacheMemory(byteLimit: 1 << 20, lifetime: .seconds(1))
        memory.add(response(), for: "k", revision: 1, at: 0, since: memory.generation)
        memory.add(response(credentials: Data([1])), for: "k", revision: 1, at: 500_000_000, since: memory.generation)
        #expect(memory.responses(for: "k", at: 999_999_999)?.responses.count == 2)
        #expect(memory.responses(for: "k", at: 1_000_000_000) == nil)
        memory.add(response(), for: "k", revision: 2, at: 600_000_000, since: memory.generation)
        #expect(memory.responses(for: "k", at: 600_000_000)?.responses.count == 1, "of another revision")
    }

    @Test("what was looked up before a removal is not remembered after it")
    func overtaken() {
        var memory = FleetCacheMemory(byteLimit: 1 << 20, lifetime: .seconds(1))
        let generation = memory.generation
        memory.remove("k")
        memory.add(response(), for: "k", revision: 1, at: 0, since: generation)
        #expect(memory.responses(for: "k", at: 0) == nil)
    }

    @Test("bytes are bounded")
    func bytes() {
        var memory = FleetCacheMemory(byteLimit: 100_000, lifetime: .seconds(1))
        for number in 0..<200 {
            memory.add(response(2_000), for: "\(number)", revision: 1, at: UInt64(number), since: memory.generation)
        }
        let count = (0..<200).count { memory.responses(for: "\($0)", at: 200) != nil }
        #expect(count * 2_000 <= 100_000 && count > 10)
        #expect(memory.responses(for: "199", at: 200) != nil && memory.responses(for: "0", at: 200) == nil)
        memory.add(response(50_000), for: "large", revision: 1, at: 0, since: memory.generation)
        #expect(memory.responses(for: "large", at: 0) == nil)
    }
}
