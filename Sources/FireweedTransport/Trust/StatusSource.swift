// The access to the network for revocation statuses.

package import Foundation

/// Fetches revocation statuses, by the proxies and routes of a session.
package protocol StatusSource: Sendable {
    /// Sends a request and waits for the content of its response; `content` makes it a POST.
    ///
    /// Throws a description of the failure when no response of 200 has come by the deadline.
    func fetch(
        _ url: URL, posting content: (data: Data, type: String)?, deadline: ContinuousClock.Instant
    ) throws -> Data
}
