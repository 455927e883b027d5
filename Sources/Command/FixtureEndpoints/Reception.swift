// Destinations of the content of requests.

package import FireweedTesting

/// Where the content of a request goes.
package enum Reception: Sendable {
    /// Into the request, in memory.
    case memory
    /// To a receiver, which the handler finds in `ReceivedRequest.receiver`. The server releases the receiver when the
    /// exchange ends, complete or not.
    case receiver(any ContentReceiver)
    /// Nowhere: the server sends this response and then closes the connection.
    case refused(FixtureResponse)
}
