// Rate limits of an exchange's content.

extension Exchange {
    /// Whether the rate limit allows content to be received now.
    var isInReceivingPace: Bool {
        guard let pace, let pool else { return true }
        return pace.mayReceive(at: pool.context.now)
    }

    /// Whether the rate limit allows content to be sent now.
    var isInSendingPace: Bool {
        guard let pace, let pool else { return true }
        return pace.maySend(at: pool.context.now)
    }

    /// The most bytes for one read (`receivingAllowance`) and for one write (`sendingAllowance`).
    var receivingAllowance: Int { pace?.receivingAllowance(at: pool?.context.now ?? 0) ?? .max }
    var sendingAllowance: Int { pace?.sendingAllowance(at: pool?.context.now ?? 0) ?? .max }

    /// Counts received content, before decoding, for the rate limit.
    func noteReceived(_ byteCount: Int) {
        guard let pace, let pool else { return }
        pace.received(byteCount, at: pool.context.now)
        setTimer()
    }

    /// Counts content that was handed to the connection, for the rate limit.
    func noteSent(_ byteCount: Int) {
        guard let pace, let pool else { return }
        pace.sent(byteCount, at: pool.context.now)
        setTimer()
    }
}
