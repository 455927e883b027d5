// Destinations of the content of requests.

/// Takes the content of one request as it comes.
public protocol ContentReceiver: AnyObject, Sendable {
    /// Takes the next bytes, on a thread of the server.
    func take(_ bytes: UnsafeRawBufferPointer)
}

/// Where the content of a request goes.
public enum Reception: Sendable {
    /// Into the request, in memory.
    case memory
    /// To a receiver, which the handler finds in the request; released when the exchange is over, whole or not.
    case receiver(any ContentReceiver)
    /// Nowhere: this is the response, and the connection is closed after it.
    case refused(FixtureResponse)
}
