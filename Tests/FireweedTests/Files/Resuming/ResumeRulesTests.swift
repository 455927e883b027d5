import Foundation
import Testing

@testable import Fireweed
@testable import FireweedTransport

@Suite("Resume rules")
struct ResumeRulesTests {
    private static let tag = ResumeData.Validator.entityTag("\"v1\"")
    private static let date = ResumeData.Validator.lastModified("Sat, 01 Nov 2025 00:00:00 GMT")

    private func head(_ status: Int, _ fields: String...) -> ResponseHead {
        ResponseHead(
            status: status,
            fields: fields.map { text in
                let halves = text.split(separator: ":", maxSplits: 1)
                return Field(name: String(halves[0]), value: halves[1].trimmingCharacters(in: .whitespaces))
            })
    }

    /// One row: what came, and what to do about it; five of ten bytes are there.
    struct Row: Sendable {
        let reason: String
        let status: Int
        let fields: [String]
        var validator = ResumeRulesTests.tag
        var expected: Int64? = 10
        let decision: ResumeRules.ResumeDecision
    }

    static let rows: [Row] = [
        Row(
            reason: "the rest (RFC 9110 §15.3.7)", status: 206,
            fields: ["Content-Range: bytes 5-9/10", "Content-Length: 5", "ETag: \"v1\""],
            decision: .append(rangeEnd: 10, completeByteCount: 10)),
        Row(
            reason: "the rest, without the validator", status: 206, fields: ["Content-Range: bytes 5-9/10"],
            decision: .append(rangeEnd: 10, completeByteCount: 10)),
        Row(
            reason: "a length that is not said keeps the saved one (§14.4)", status: 206,
            fields: ["Content-Range: bytes 5-9/*"], decision: .append(rangeEnd: 10, completeByteCount: 10)),
        Row(
            reason: "the length is unknown", status: 206, fields: ["Content-Range: bytes 5-9/*"], expected: nil,
            decision: .append(rangeEnd: 10, completeByteCount: nil)),
        Row(
            reason: "a part of the rest", status: 206, fields: ["Content-Range: bytes 5-7/10", "Content-Length: 3"],
            decision: .append(rangeEnd: 8, completeByteCount: 10)),
        Row(
            reason: "identity is no coding (§12.5.3)", status: 206,
            fields: ["Content-Range: bytes 5-9/10", "Content-Encoding: identity"],
            decision: .append(rangeEnd: 10, completeByteCount: 10)),
        Row(
            reason: "the date still is the same", status: 206,
            fields: ["Content-Range: bytes 5-9/10", "Last-Modified: Sat, 01 Nov 2025 00:00:00 GMT"], validator: date,
            decision: .append(rangeEnd: 10, completeByteCount: 10)),
        Row(
            reason: "another date", status: 206,
            fields: ["Content-Range: bytes 5-9/10", "Last-Modified: Sat, 01 Nov 2025 00:00:01 GMT"], validator: date,
            decision: .askAgain(.representationChanged)),
        Row(
            reason: "another start", status: 206, fields: ["Content-Range: bytes 4-9/10"],
            decision: .askAgain(.rangeIgnored)),
        Row(
            reason: "a later start would leave a hole", status: 206, fields: ["Content-Range: bytes 6-9/10"],
            decision: .askAgain(.rangeIgnored)),
        Row(
            reason: "another length of the whole", status: 206, fields: ["Content-Range: bytes 5-10/11"],
            decision: .askAgain(.representationChanged)),
        Row(
            reason: "the tag of another version", status: 206,
            fields: ["Content-Range: bytes 5-9/10", "ETag: \"v2\""], decision: .askAgain(.representationChanged)),
        Row(
            reason: "a weak tag does not match strongly (§8.8.3.2)", status: 206,
            fields: ["Content-Range: bytes 5-9/10", "ETag: W/\"v1\""], decision: .askAgain(.representationChanged)),
        Row(reason: "no Content-Range", status: 206, fields: [], decision: .askAgain(.rangeIgnored)),
        Row(
            reason: "several ranges (§14.6)", status: 206, fields: ["Content-Type: multipart/byteranges; boundary=b"],
            decision: .askAgain(.rangeIgnored)),
        Row(
            reason: "two Content-Range fields", status: 206,
            fields: ["Content-Range: bytes 5-9/10", "Content-Range: bytes 0-4/10"], decision: .askAgain(.rangeIgnored)),
        Row(
            reason: "an unrequested unit", status: 206, fields: ["Content-Range: lines 5-9/10"],
            decision: .askAgain(.rangeIgnored)),
        Row(
            reason: "a Content-Length that contradicts the range", status: 206,
            fields: ["Content-Range: bytes 5-9/10", "Content-Length: 4"], decision: .askAgain(.rangeIgnored)),
        Row(
            reason: "a part of a coded form", status: 206,
            fields: ["Content-Range: bytes 5-9/10", "Content-Encoding: gzip"], decision: .askAgain(.contentCoding)),
        Row(
            reason: "the whole, of another version (§13.1.5)", status: 200, fields: ["ETag: \"v2\""],
            decision: .replace(.representationChanged)),
        Row(
            reason: "the whole, from a server without ranges", status: 200, fields: ["ETag: \"v1\""],
            decision: .replace(.rangeIgnored)),
        Row(reason: "the whole, of a proxy", status: 203, fields: [], decision: .replace(.rangeIgnored)),
        Row(reason: "accepted, to be done later (§15.3.3)", status: 202, fields: ["ETag: \"v1\""], decision: .other),
        Row(reason: "no content (§15.3.5)", status: 204, fields: [], decision: .other),
        Row(
            reason: "no such range (§15.5.17)", status: 416, fields: ["Content-Range: bytes */3"],
            decision: .askAgain(.rangeNotSatisfiable)),
        Row(reason: "not found", status: 404, fields: ["ETag: \"v1\""], decision: .other),
        Row(reason: "busy", status: 503, fields: [], decision: .other),
        Row(reason: "a redirect that is not followed", status: 302, fields: [], decision: .other),
        Row(reason: "nothing was asked under a condition", status: 304, fields: [], decision: .other),
    ]

    @Test("a response to a request for the rest is decided about by its head", arguments: rows)
    func decision(row: Row) {
        let head = ResponseHead(
            status: row.status,
            fields: row.fields.map { text in
                let halves = text.split(separator: ":", maxSplits: 1)
                return Field(name: String(halves[0]), value: halves[1].trimmingCharacters(in: .whitespaces))
            })
        let decision = ResumeRules.decide(
            on: head, offset: 5, validator: row.validator, expectedByteCount: row.expected)
        #expect(decision == row.decision, "\(row.reason)")
    }

    @Test(
        "Content-Range follows RFC 9110 §14.4",
        arguments: [
            ("bytes 0-0/1", ContentRange(bounds: 0...0, completeByteCount: 1)),
            ("bytes 5-9/*", ContentRange(bounds: 5...9, completeByteCount: nil)),
            ("Bytes 5-9/10", ContentRange(bounds: 5...9, completeByteCount: 10)),
            ("bytes */10", ContentRange(bounds: nil, completeByteCount: 10)),
            ("bytes 5-4/10", nil), ("bytes 5-10/10", nil), ("bytes -5/10", nil), ("bytes 5-/10", nil),
            ("bytes */*", nil),
            ("bytes 5-9", nil), ("bytes=5-9/10", nil), ("5-9/10", nil), ("bytes +5-9/10", nil),
            ("bytes 5-9/10/11", nil),
            ("bytes 5-9/99999999999999999999", nil), ("", nil), ("bytes 5 -9/10", nil), ("items 5-9/10", nil),
        ] as [(String, ContentRange?)])
    func contentRange(text: String, expected: ContentRange?) {
        #expect(ContentRange(text) == expected)
    }

    @Test(
        "only a strong validator is one (RFC 9110 §8.8, §13.1.5)",
        arguments: [
            (["ETag: \"v1\""], ResumeData.Validator.entityTag("\"v1\"")),
            (["ETag: \"\""], .entityTag("\"\"")),
            (["ETag: W/\"v1\""], nil), (["ETag: v1"], nil), (["ETag: \"a\"b\""], nil), (["ETag: \"a b\""], nil),
            ([], nil),
            // A date counts when it lies at least a second before the response's own (§8.8.2.2).
            (
                ["Last-Modified: Sat, 01 Nov 2025 00:00:00 GMT", "Date: Sat, 01 Nov 2025 00:00:01 GMT"],
                .lastModified("Sat, 01 Nov 2025 00:00:00 GMT")
            ),
            (["Last-Modified: Sat, 01 Nov 2025 00:00:00 GMT", "Date: Sat, 01 Nov 2025 00:00:00 GMT"], nil),
            (["Last-Modified: Sat, 01 Nov 2025 00:00:00 GMT"], nil),
            (["Last-Modified: yesterday", "Date: Sat, 01 Nov 2025 00:00:01 GMT"], nil),
            // A weak tag says that the server does not vouch for bytes: the date must not do it in its place.
            (
                [
                    "ETag: W/\"v1\"", "Last-Modified: Sat, 01 Nov 2025 00:00:00 GMT",
                    "Date: Sat, 01 Nov 2025 00:00:09 GMT",
                ], nil
            ),
        ] as [([String], ResumeData.Validator?)])
    func validator(fields: [String], expected: ResumeData.Validator?) {
        let head = ResponseHead(
            status: 200,
            fields: fields.map { text in
                let halves = text.split(separator: ":", maxSplits: 1)
                return Field(name: String(halves[0]), value: halves[1].trimmingCharacters(in: .whitespaces))
            })
        #expect(ResumeRules.validator(of: head) == expected)
    }

    @Test(
        "the rest begins behind what is there; what may be complete is asked for its last byte",
        arguments: [(0, 10, 0), (5, 10, 5), (9, 10, 9), (10, 10, 9), (1, 1, 0), (5, nil, 4), (0, nil, 0)]
            as [(Int64, Int64?, Int64)])
    func offset(count: Int64, expected: Int64?, offset: Int64) {
        #expect(ResumeRules.offset(byteCount: count, expectedByteCount: expected) == offset)
    }

    @Test("only a whole answer to GET, without coding, can be gone on with")
    func resumable() {
        #expect(ResumeRules.isResumable(head(200), method: "GET"))
        #expect(ResumeRules.isResumable(head(200, "Accept-Ranges: bytes"), method: "GET"))
        #expect(!ResumeRules.isResumable(head(200, "Accept-Ranges: none"), method: "GET"))
        #expect(!ResumeRules.isResumable(head(200, "Content-Encoding: br"), method: "GET"))
        #expect(!ResumeRules.isResumable(head(200), method: "POST"))
        #expect(!ResumeRules.isResumable(head(404), method: "GET"))
    }
}
