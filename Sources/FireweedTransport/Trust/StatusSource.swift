// The network access for revocation statuses.

package import Foundation

/// Fetches revocation statuses with the proxies and routes of a session.
package protocol StatusSource: Sendable {
    /// Sends a request and waits for the content of the response; the request is a POST if there is `content`.
    ///
    /// Throws a description of the failure if no response with status 200 arrives by the deadline.
    func fetch(
        _ url: URL, posting content: (data: Data, type: String)?, deadline: ContinuousClock.Instant
    ) throws -> Data
}
