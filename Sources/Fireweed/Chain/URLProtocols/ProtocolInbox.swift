// Reports of a `URLProtocol` that its attempt has not handled yet.

import FireweedTransport
import Foundation
import FoundationNetworking

/// The reports of one `URLProtocol`, in the order in which the attempt gets them; a pure value.
///
/// A protocol may report from several threads, twice, in any order, and after its end. The attempt gets at most one
/// response, then content, then exactly one end.
struct ProtocolInbox {
    /// A report of the protocol.
    enum Report {
        /// The response; `nil` when the protocol ended without one.
        case response(URLResponse?, ResponseOrigin)
        case content(Data)
        case redirect(URLRequest, URLResponse)
        case end(TransferFailure?)
    }

    /// Where a protocol's response comes from.
    enum ResponseOrigin {
        /// The protocol made the response, and allows storing it as the policy says.
        case made(URLCache.StoragePolicy)
        /// The response is the stored response that the protocol was given, and that the protocol declared valid.
        case stored
    }

    private var reports = ElementQueue<Report>()
    /// The report that was put back: `next()` returns it first.
    private var refused: Report?
    /// Content that came before the response; it is delivered after the response.
    private var early: [Data] = []
    private var hasResponse = false
    /// False once the protocol has reported an end or a redirect, or its reports are not needed any more.
    private(set) var isOpen = true

    /// Adds a report; returns whether the report ended the protocol's work.
    ///
    /// A report after the end is ignored.
    mutating func add(_ report: Report) -> Bool {
        guard isOpen else { return false }
        switch report {
        case .response:
            // A second response, such as a part of `multipart/x-mixed-replace`, is ignored: a request has one response.
            guard !hasResponse else { return false }
            hasResponse = true
            reports.append(report)
            appendEarly()
            return false
        case .content(let data):
            if hasResponse { reports.append(report) } else { early.append(data) }
            return false
        case .end(nil):
            if !hasResponse { reports.append(.response(nil, .made(.notAllowed))) }
            appendEarly()
        case .end, .redirect: break
        }
        reports.append(report)
        isOpen = false
        early = []
        return true
    }

    /// Adds the stored response that the protocol has declared valid, as the whole response; returns whether that ended
    /// the protocol's work.
    mutating func add(stored response: CachedURLResponse) -> Bool {
        guard isOpen, !hasResponse else { return false }
        early = []
        _ = add(.response(response.response, .stored))
        _ = add(.content(response.data))
        return add(.end(nil))
    }

    /// The next report for the attempt.
    mutating func next() -> Report? {
        refused.take() ?? reports.popFirst()
    }

    /// Puts a report back: the next call of `next()` returns it.
    mutating func putBack(_ report: Report) {
        refused = report
    }

    /// Drops the waiting reports; later reports are ignored.
    mutating func close() {
        self = ProtocolInbox()
        isOpen = false
    }

    private mutating func appendEarly() {
        for data in early { reports.append(.content(data)) }
        early = []
    }
}
