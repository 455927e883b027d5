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
        let read = try #require(FleetEntry(entry.encoded(for: "k"), of: "k"))
        #expect(read.head.encoded == entry.head.encoded && read.contentByteCount == 3)
        let content = Data("one".utf8)
        #expect(FleetEntry.content(FleetEntry.encoded(content, of: entry), of: read) == content)
    }

    @Test("a head under another key, and the content of another head, are nothing")
    func misplaced() {
        let (one, two) = (
            FleetEntry(head: head(), contentByteCount: 3), FleetEntry(head: head(), contentByteCount: 3)
        )
        #expect(FleetEntry(one.encoded(for: "k"), of: "l") == nil)
        let content = FleetEntry.encoded(Data("one".utf8), of: one)
        #expect(FleetEntry.content(content, of: two) == nil)
        #expect(FleetEntry.content(content.dropLast(), of: one) == nil)
        #expect(FleetEntry.content(content + [0], of: one) == nil)
    }

    @Test("a damaged head is nothing, whichever byte it is")
    func damaged() {
        let bytes = FleetEntry(head: head(), contentByteCount: 3).encoded(for: "k")
        // The length is checked with the content.
        for index in bytes.indices where !(1..<9).contains(index) {
            var damaged = bytes
            damaged[index] ^= 0x10
            #expect(FleetEntry(damaged, of: "k") == nil, "byte \(index)")
        }
        for count in bytes.indices { #expect(FleetEntry(Array(bytes.prefix(count)), of: "k") == nil) }
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
        let bytes = RESPValue.bulk(entry.encoded(for: "k"))
        let content = RESPValue.bulk(FleetEntry.encoded(Data("one".utf8), of: entry))
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
