// The connection below a WebSocket.

/// Is notified about its connection, on the loop's thread.
///
/// The methods may be called from inside `DedicatedConnection.dial()`.
protocol DedicatedConnectionOwner: AnyObject {
    /// The connection attempt has made progress: the idle time-out restarts.
    func connectionDidProgress()
    /// The connection is made; bytes can be written, and read when they come.
    func connectionDidOpen()
    /// The connection cannot be made.
    func connectionDidFail(_ failure: TransferFailure)
    /// Bytes can be read or written, as `DedicatedConnection.wait(for:)` has asked.
    func connectionIsReady()
}

/// A connection that belongs to one owner for its whole life: it is dialled, then bytes go both ways.
///
/// It lives on its loop's thread. The owner outlives it.
protocol DedicatedConnection: AnyObject {
    /// Begins to connect, as the session's options say: name look-up, proxy, tunnel, TLS, trust.
    func dial()

    /// Closes the connection, or ends its making; the owner is not called any more.
    func hangUp()

    /// Reads the bytes that are available.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> ByteChannel.TransferResult

    /// Writes as many bytes as the connection takes now.
    func write(_ bytes: UnsafeRawBufferPointer) -> ByteChannel.TransferResult

    /// Sets what `connectionIsReady` waits for, `readable` and `writable`; empty waits for nothing.
    func wait(for readiness: SocketReadiness)

    /// Whether another read may give bytes that no readiness event announces.
    var mayHoldBytes: Bool { get }

    /// Fills the times of connecting into a report, whose times count from `start`.
    func fill(_ report: inout TransferReport, since start: LoopInstant)

    /// The two ends of the connection, its protocol and its TLS, once the peer has answered.
    var details: ConnectionDetails { get }
}
