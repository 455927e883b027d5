// The connection below a WebSocket.

/// Is told of its connection; called on the loop's thread.
///
/// The methods may be called from inside `DedicatedConnection.dial()`.
protocol DedicatedConnectionOwner: AnyObject {
    /// The making of the connection has made progress: the idle time begins anew.
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

    /// Reads what is there.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> ByteChannel.TransferResult

    /// Writes as much as is taken now.
    func write(_ bytes: UnsafeRawBufferPointer) -> ByteChannel.TransferResult

    /// Sets what `connectionIsReady` waits for, `readable` and `writable`; empty waits for nothing.
    func wait(for readiness: SocketReadiness)

    /// Whether another read may give bytes, of which no readiness will tell.
    var mayHoldBytes: Bool { get }

    /// Puts into a report how the connection was made; the report counts from `start`.
    func fill(_ report: inout TransferReport, since start: LoopInstant)

    /// The ends of the connection and what was agreed on for it, once the peer has answered.
    var details: ConnectionDetails { get }
}
