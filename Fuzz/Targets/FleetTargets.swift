// Targets for replies of a fleet's server.

import Fireweed
import FireweedFleet
import Foundation

extension FuzzTarget {
    /// What the cache finds in the fleet's server: heads, contents and replies, which any program may have written.
    static let fleetEntry = FuzzTarget("fleet-entry") { bytes in
        let key = "http://a.test/"
        if let entry = FleetEntry(Array(bytes), of: key) {
            guard let again = entry.encoded(for: key).flatMap({ FleetEntry($0, of: key) }) else {
                throw FuzzFailure(description: "a head that was read can be read again")
            }
            try expectEqual(again.contentByteCount, entry.contentByteCount, "the length survives")
            try expectEqual(again.head.identifier, entry.head.identifier, "the identifier survives")
            try expect(FleetEntry(Array(bytes), of: key + "x") == nil, "a head is for one key")
        }
        // A head of ours whose bytes are the fuzzer's, under a check that is right.
        if let head = Data(bytes).withUnsafeBytes({ StoredHead(encoded: $0) }) {
            let entry = FleetEntry(head: head, contentByteCount: bytes.count)
            try expect(entry.encoded(for: key).flatMap { FleetEntry($0, of: key) } != nil, "a head survives")
            let content = FleetEntry.encoded(Data(bytes), of: entry) ?? []
            try expectEqual(FleetEntry.content(content, of: entry), Data(bytes), "content survives")
        }
        var parser = RESPParser()
        Array(bytes).withUnsafeBytes { parser.append($0) }
        while let value = try? parser.next() { _ = FleetCacheReply(value, key: key) }
    }

    /// Replies of RESP2 and RESP3, under limits that are small enough to be reached.
    static let resp = FuzzTarget("resp") { bytes in
        var limits = RESPParser.Limits()
        limits.depth = 4
        limits.valueCount = 64
        limits.byteCount = 512
        limits.lineByteCount = 128
        var outcomes: [RESPOutcome] = []
        for pieces in bytes.cuttings {
            var parser = RESPParser(limits: limits)
            var outcome = RESPOutcome()
            for piece in pieces where outcome.error == nil {
                piece.withUnsafeBytes { parser.append($0) }
                do throws(RESPSyntaxError) {
                    while let value = try parser.next() { outcome.values.append("\(value)") }
                } catch {
                    outcome.error = error.description
                }
            }
            outcomes.append(outcome)
        }
        for outcome in outcomes.dropFirst() {
            try expectEqual(outcome.values, outcomes[0].values, "the values do not depend on the cuts")
            // Which of two faults is seen first may depend on the cuts; that there is one may not.
            try expectEqual(outcome.error == nil, outcomes[0].error == nil, "faults do not depend on the cuts")
        }
        let command = RESPArgument.encode([RESPArgument(Array(bytes)), "GET"])
        var parser = RESPParser()
        command.withUnsafeBytes { parser.append($0) }
        let expected = RESPValue.array([.bulk(Array(bytes)), .bulk(Array("GET".utf8))])
        try expectEqual(try parser.next(), expected, "a command can be read")
    }
}

/// The values that a parser gave, and the error that it ended with.
private struct RESPOutcome {
    var values: [String] = []
    var error: String?
}
