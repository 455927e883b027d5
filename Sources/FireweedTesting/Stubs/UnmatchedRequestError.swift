// A request that no stub answers.

public import Foundation

/// No stub matches a request; the description shows the request, and the nearest stub with its differences.
///
/// A stubbed session's request fails with `AFError.sessionTaskFailed(error:)` around this error. No retry policy of
/// Fireweed retries the request.
public struct UnmatchedRequestError: Error, Sendable, CustomStringConvertible, LocalizedError {
    /// The request.
    public let request: RecordedRequest
    /// The request, the nearest stub, and a line for each difference.
    public let description: String
    /// The description.
    public var errorDescription: String? { description }

    init(request: RecordedRequest, stubs: [Stubs.Entry], redaction: Redaction) {
        self.request = request
        var lines = ["No stub matches \(request).", ""]
        lines += request.detail(redaction).split(separator: "\n", omittingEmptySubsequences: false).map {
            $0.isEmpty ? "" : "  \($0)"
        }
        lines.append("")
        var next: [UUID: Int] = [:]
        for entry in stubs where !entry.isUsedUp {
            if let place = entry.stub.place, next[place.order] == nil { next[place.order] = place.number }
        }
        let matches = stubs.map { (entry: $0, match: StubMatch($0.stub, request, next: next)) }
        if let used = matches.first(where: { $0.match.isMatch }) {
            lines.append(
                "The stub \(used.entry.stub) matches, and has answered its \(used.entry.callCount) times.")
        } else if let nearest = matches.min(by: { $0.match.distance < $1.match.distance }) {
            lines.append(
                "The nearest of \(stubs.count == 1 ? "1 stub" : "\(stubs.count) stubs") is \(nearest.entry.stub):"
            )
            lines += nearest.match.lines
        } else {
            lines.append("There are no stubs.")
        }
        description = lines.joined(separator: "\n")
    }
}
