// Destinations of the content of requests to a server.

/// Takes the content of one request as it arrives.
package protocol ContentReceiver: AnyObject, Sendable {
    /// Takes the next bytes, on a thread of the server.
    func take(_ bytes: UnsafeRawBufferPointer)
}

/// Where the content of a request to a ``MockServer`` goes.
package enum ContentDestination: Sendable {
    /// Into the request, in memory.
    case memory
    /// To a receiver, which the handler finds in `RecordedRequest.receiver`.
    case receiver(any ContentReceiver)
    /// Nowhere: the server sends this response, and then closes the connection.
    case refused(MockResponse)
}
