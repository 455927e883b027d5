// The result that a handler received.

import Fireweed
import Foundation

/// The result of a request that one of its handlers received.
struct Outcome: Sendable, CustomStringConvertible {
    /// Status and URL of the response; `nil` when there is none.
    var status: Int?
    var url: URL?
    var error: AFError?
    /// The content; `nil` for a handler that does not receive the whole content.
    var content: Data?
    /// Whether other statuses than 2xx were refused.
    var isValidated: Bool

    init(_ response: HTTPURLResponse?, error: AFError?, content: Data? = nil, isValidated: Bool = false) {
        self.isValidated = isValidated
        status = response?.statusCode
        url = response?.url
        self.error = error
        self.content = content
    }

    var description: String {
        let end = error.map { "\($0)" } ?? content.map { "\($0.count) bytes" } ?? "success"
        return "\(status.map { "\($0) " } ?? "no response, ")\(end)"
    }
}
