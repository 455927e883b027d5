import FireweedTransport
import Foundation
import FoundationNetworking
import Testing

@testable import Fireweed

@Suite("ProtocolInbox")
struct ProtocolInboxTests {
    /// What a protocol may report, as text: a response, content, the end, a failure, a redirect, a valid stored
    /// response.
    private static let reports = ["R", "C", "E", "F", "M", "S"]
    private static let url = URL(fileURLWithPath: "/")
    private static let response = URLResponse(
        url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)

    private static func add(_ report: String, to inbox: inout ProtocolInbox) -> Bool {
        switch report {
        case "R": inbox.add(.response(response, .made(.allowed)))
        case "C": inbox.add(.content(Data("c".utf8)))
        case "E": inbox.add(.end(nil))
        case "F": inbox.add(.end(.reported(URLError(.unknown))))
        case "M": inbox.add(.redirect(URLRequest(url: url), response))
        default: inbox.add(stored: CachedURLResponse(response: response, data: Data()))
        }
    }

    private static func text(_ report: ProtocolInbox.Report) -> String {
        switch report {
        case .response(nil, _): "r"
        case .response(_, .stored): "s"
        case .response(_, .made): "R"
        case .content: "C"
        case .end(nil): "E"
        case .end: "F"
        case .redirect: "M"
        }
    }

    /// What the attempt gets of the reports.
    private static func outcome(_ given: [String]) -> String {
        var inbox = ProtocolInbox()
        var endCount = 0
        for report in given where add(report, to: &inbox) { endCount += 1 }
        #expect(endCount <= 1 && inbox.isOpen == (endCount == 0))
        var outcome = ""
        while let report = inbox.next() { outcome += text(report) }
        return outcome
    }

    @Test(
        "reports come in an order that a request understands",
        arguments: [
            (["R", "C", "C", "E"], "RCCE"),
            (["C", "R", "C", "E"], "RCCE"),  // content waits for the response
            (["C", "E"], "rCE"),  // without a response
            (["E"], "rE"),
            (["R", "R", "C", "E"], "RCE"),  // the first response counts
            (["C", "F"], "F"),  // content without a response is of no use after a failure
            (["R", "C", "F", "E", "C"], "RCF"),  // the first end counts
            (["S", "R", "C", "E"], "sCE"),  // the stored response is the whole answer
            (["R", "S", "E"], "RE"),  // too late to answer with a stored one
            (["M", "F"], "M"),
        ])
    func order(given: [String], expected: String) {
        #expect(Self.outcome(given) == expected)
    }

    @Test("whatever is reported, there is at most one response, before all content, and at most one end, last")
    func everyOrder() {
        var sequences: [[String]] = [[]]
        for _ in 0..<5 {
            sequences += sequences.filter { $0.count == sequences.last?.count }.flatMap { sequence in
                Self.reports.map { sequence + [$0] }
            }
        }
        for given in sequences {
            let outcome = Self.outcome(given)
            #expect(outcome.count { "RrsM".contains($0) } <= 1 || outcome.hasSuffix("M"), "\(given)")
            #expect(outcome.dropFirst().allSatisfy { !"Rrs".contains($0) }, "\(given)")
            #expect(outcome.dropLast().allSatisfy { !"EFM".contains($0) }, "\(given)")
        }
    }

    @Test("a closed inbox has nothing and takes nothing; what was put back comes first")
    func closing() {
        var inbox = ProtocolInbox()
        _ = inbox.add(.response(Self.response, .stored))
        _ = inbox.add(.content(Data()))
        if let first = inbox.next() { inbox.putBack(first) }
        #expect(inbox.next().map(Self.text) == "s")
        inbox.close()
        #expect(!inbox.add(.end(nil)) && inbox.next() == nil && !inbox.isOpen)
    }
}
