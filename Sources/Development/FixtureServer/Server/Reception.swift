// Destinations of the content of requests.

/// Takes the content of one request as it arrives.
public protocol ContentReceiver: AnyObject, Sendable {
    /// Takes the next bytes, on a thread of the server.
    func take(_ bytes: UnsafeRawBufferPointer)
}

/// Where the content of a request goes.
public enum Reception: Sendable {
    /// Into the request, in memory.
    case memory
    /// To a receiver, which the handler finds in `ReceivedRequest.receiver`. The server releases the receiver when the
    /// exchange ends, complete or not.
    case receiver(any ContentReceiver)
    /// Nowhere: the server sends this response and then closes the connection.
    case refused(FixtureResponse)
}
