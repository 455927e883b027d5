import Fireweed
import FireweedTransport
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Foundation's form of a response")
struct FoundationResponseTests {
    private static let url = URL(fileURLWithPath: "/")

    // Foundation's parser of these two takes time that grows with the square of the length: 1.8 s for 290 KB.
    @Test(
        "lacks a field that Foundation would parse for too long, which the head keeps",
        arguments: ["Content-Type", "content-disposition"])
    func longField(name: String) throws {
        for (count, isKept) in [(4096, true), (4097, false), (290_000, false)] {
            let value = "a/b;" + String(repeating: "\"", count: count - 4)
            let fields = [Field(name: name, value: value), Field(name: "X", value: "1")]
            let head = ResponseHead(status: 200, fields: fields)
            let response = try #require(head.httpURLResponse(for: Self.url))
            #expect(response.value(forHTTPHeaderField: name) == (isKept ? value : nil))
            #expect(response.value(forHTTPHeaderField: "X") == "1")
            #expect(head.value(of: name) == value)
        }
    }

    @Test("lacks such a field also where several lines make it long")
    func manyLines() throws {
        let lines = (0..<1000).map { Field(name: "Content-Type", value: "text/plain; a=\($0)") }
        let others = (0..<1000).map { Field(name: $0.isMultiple(of: 2) ? "X-A" : "x-a", value: "\($0)") }
        let response = try #require(ResponseHead(status: 200, fields: lines + others).httpURLResponse(for: Self.url))
        #expect(response.value(forHTTPHeaderField: "Content-Type") == nil)
        let joined = (0..<1000).map(String.init).joined(separator: ", ")
        #expect(response.value(forHTTPHeaderField: "X-A") == joined)
    }
}
