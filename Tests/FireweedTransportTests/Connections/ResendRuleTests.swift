import Testing

@testable import FireweedTransport

@Suite("Sending a message again (RFC 9110 §9.2.2)")
struct ResendRuleTests {
    /// Method, whether the connection was reused, whether a byte left, whether an answer began, whether it is repeated.
    private static let rows: [(method: String, reused: Bool, written: Bool, answer: Bool, repeated: Bool, may: Bool)] =
        [
            ("GET", true, true, false, false, true), ("HEAD", true, true, false, false, true),
            ("PUT", true, true, false, false, true), ("OPTIONS", true, true, false, false, true),
            ("POST", true, true, false, false, false), ("PATCH", true, true, false, false, false),
            ("DELETE", true, true, false, false, false), ("get", true, true, false, false, false),
            ("POST", true, false, false, false, true),  // nothing of it left
            ("GET", false, true, false, false, false),  // a new connection was not closed as idle
            ("GET", true, true, true, false, false),  // the server has acted
            ("GET", true, true, false, true, false), ("POST", true, false, false, true, false),  // once
        ]

    @Test("an origin pauses after refusals of a message that is sent again, and not after the last")
    func pauses() {
        let pauses = (1...5).map { ResendRule.pause(afterRefusals: $0) }
        #expect(pauses == [nil, 50_000_000, 200_000_000, nil, nil])
    }

    @Test("the rule", arguments: rows)
    func rule(row: (method: String, reused: Bool, written: Bool, answer: Bool, repeated: Bool, may: Bool)) {
        let rule = ResendRule(
            method: row.method, wasReused: row.reused, hasWritten: row.written, hasAnswer: row.answer,
            isRepeated: row.repeated)
        #expect(rule.allowsResend == row.may)
    }

    @Test(
        "what the peer did not process may be sent again by any method, until peers refuse too often (RFC 9113 §8.7)",
        arguments: [
            (1, 1, false, true), (3, 50, false, true), (4, 4, false, false), (1, 99, false, true),
            (1, 100, false, false),
            (1, 1, true, false),
        ])
    func unprocessed(refusalCount: Int, tryCount: Int, hasAnswer: Bool, may: Bool) {
        let rule = ResendRule(
            method: "POST", wasReused: false, hasWritten: true, hasAnswer: hasAnswer, isRepeated: tryCount > 1,
            isUnprocessed: true, refusalCount: refusalCount, tryCount: tryCount)
        #expect(rule.allowsResend == may)
    }

    @Test("refusals count while no message gets ahead")
    func refusals() {
        var refusals = RefusalCount()
        let counts = [0, 0, 3, 3, 3, 4, 5, 5].map { progress in
            refusals.note(progress: progress)
            return refusals.count
        }
        #expect(counts == [1, 2, 1, 2, 3, 1, 1, 2])
    }
}
