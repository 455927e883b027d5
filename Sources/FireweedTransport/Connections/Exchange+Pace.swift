// The rates of an exchange's content.

extension Exchange {
    /// Whether the rate lets content come in.
    var isInReceivingPace: Bool {
        guard let pace, let pool else { return true }
        return pace.mayReceive(at: pool.context.now)
    }

    /// Whether the rate lets content go out.
    var isInSendingPace: Bool {
        guard let pace, let pool else { return true }
        return pace.maySend(at: pool.context.now)
    }

    /// The most bytes for one read, and for one write.
    var receivingAllowance: Int { pace?.receivingAllowance(at: pool?.context.now ?? 0) ?? .max }
    var sendingAllowance: Int { pace?.sendingAllowance(at: pool?.context.now ?? 0) ?? .max }

    /// Notes received content, counted before decoding.
    func noteReceived(_ byteCount: Int) {
        guard let pace, let pool else { return }
        pace.received(byteCount, at: pool.context.now)
        setTimer()
    }

    /// Notes content that was handed to the connection.
    func noteSent(_ byteCount: Int) {
        guard let pace, let pool else { return }
        pace.sent(byteCount, at: pool.context.now)
        setTimer()
    }
}
