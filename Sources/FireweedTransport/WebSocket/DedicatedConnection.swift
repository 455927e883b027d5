// The connection below a WebSocket.

/// The owner of a connection, which is notified on the loop's thread.
///
/// The methods may be called inside `DedicatedConnection.dial()`.
protocol DedicatedConnectionOwner: AnyObject {
    /// The connection attempt has made progress: the idle time-out restarts.
    func connectionDidProgress()
    /// The connection is open: bytes can be written, and read once they arrive.
    func connectionDidOpen()
    /// The connection could not be opened.
    func connectionDidFail(_ failure: TransferFailure)
    /// Bytes can be read or written; `DedicatedConnection.wait(for:)` has requested this call.
    func connectionIsReady()
}

/// A connection that belongs to one owner until it is closed.
///
/// It lives on its loop's thread. The owner outlives it.
protocol DedicatedConnection: AnyObject {
    /// Begins to connect with the session's options: name look-up, proxy, tunnel, TLS, trust.
    func dial()

    /// Closes the connection, or stops connecting; the owner is not called any more.
    func hangUp()

    /// Reads the bytes that are available.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> ByteChannel.TransferResult

    /// Writes as many bytes as the connection accepts now.
    func write(_ bytes: UnsafeRawBufferPointer) -> ByteChannel.TransferResult

    /// Sets the readiness for which `connectionIsReady` is called: readable, writable, both or (if empty) none.
    func wait(for readiness: SocketReadiness)

    /// Whether another read may return bytes although no readiness event reports them.
    var mayHoldBytes: Bool { get }

    /// Stores the times of connecting in a report, relative to `start`.
    func fill(_ report: inout TransferReport, since start: LoopInstant)

    /// The addresses of both ends, the protocol and the TLS parameters, once the peer has responded.
    var details: ConnectionDetails { get }
}
