// Responses in words.

import Foundation
import FoundationNetworking

/// A result whose error is an `AFError`.
public typealias AFResult<Success> = Result<Success, AFError>

/// The lines of a response's debug description.
enum ResponseText {
    static func describe(
        _ evidence: any ResponseEvidence, content: String, serializationDuration: TimeInterval, result: String
    ) -> String {
        guard let request = evidence.request else { return "[Request]: None\n[Result]: \(result)" }
        let duration = evidence.metrics.map { "\($0.taskInterval.duration)s" } ?? "None"
        return """
            [Request]: \(request.httpMethod ?? "GET") \(request.url?.absoluteString ?? "None")
            [Headers]: \(indented(request.headers))
            [Response]: \(response(evidence))
            \(content)
            [Network Duration]: \(duration)
            [Serialization Duration]: \(serializationDuration)s
            [Result]: \(result)
            """
    }

    /// The content as text where it is text and not too long.
    static func body(_ data: Data?, of evidence: any ResponseEvidence) -> String {
        guard let data, !data.isEmpty else { return "None" }
        guard data.count <= 100_000, let text = String(data: data, encoding: .utf8) else {
            return "\(data.count) bytes"
        }
        return "\n    " + text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func response(_ evidence: any ResponseEvidence) -> String {
        guard let response = evidence.response else { return "None" }
        return "\n    [Status Code]: \(response.statusCode)\n    [Headers]: \(indented(response.headers))"
    }

    private static func indented(_ headers: HTTPHeaders) -> String {
        headers.isEmpty ? "None" : headers.sorted().map { "\n        \($0)" }.joined()
    }
}
