// Refusal of exchanges in the queue of their origin, to spare the origin.

extension OriginPool {
    /// Fails a waiting exchange whose deadline is out of reach.
    func refuse(_ exchange: Exchange, remaining: UInt64, needed: UInt64) {
        fail(exchange) { origin in
            .deadlineOutOfReach(
                origin: origin, remaining: .nanoseconds(Int64(clamping: remaining)),
                needed: .nanoseconds(Int64(clamping: needed)))
        }
    }

    /// Fails an exchange since too many exchanges wait.
    func refuse(_ exchange: Exchange, beyond limit: Int) {
        fail(exchange) { .tooManyWaiting(origin: $0, limit: limit) }
    }

    private func fail(_ exchange: Exchange, _ error: (String) -> OverloadError) {
        exchange.end(.reported(error(exchange.target?.origin ?? "")))
    }
}

extension Exchange {
    /// The moment at which the wait for a connection times out; `nil` for none.
    ///
    /// An exchange with a dialer waits for the network, which other time-outs limit.
    var connectionWaitEnd: LoopInstant? {
        guard let limit = pool?.maximumConnectionWait, stage == .waiting, entry.place != nil, entry.dialer == nil else {
            return nil
        }
        return entry.instant.addingSaturating(limit.nanoseconds)
    }

    /// The failure after a wait that was too long.
    var waitFailure: TransferFailure {
        .reported(
            OverloadError.waitedTooLong(origin: target?.origin ?? "", limit: pool?.maximumConnectionWait ?? .zero))
    }

    /// Writes the milliseconds left to the deadline into a field of the message; does nothing without a deadline.
    func writeRemainingTime(into name: String, at now: LoopInstant) {
        let others = message.fields.fields.filter { !$0.name.isEqualIgnoringASCIICase(name) }
        let hadField = others.count < message.fields.fields.count
        guard let deadline = lineDeadline else { return }
        let milliseconds = (deadline - min(now, deadline)) / 1_000_000
        let field = Field(name: name, value: "\(milliseconds)")
        // If the message is sent again, the field of the earlier try is replaced.
        message.fields = hadField ? FieldBlock(others + [field]) : FieldBlock(message.fields, adding: [field])
    }
}
