// The calls to an exchange's consumer.

extension Exchange {
    func deliverInterim(_ head: ResponseHead) {
        consumer?.transferDidReceiveInterim(head)
    }

    func deliver(_ head: ResponseHead) {
        hasDeliveredHead = true
        guard let flow = consumer?.transferDidReceive(head) else { return }
        _ = self.flow.follow(flow)
    }

    func deliver(_ content: UnsafeRawBufferPointer) {
        guard let consumer else { return }
        reports.current.responseDecodedByteCount += Int64(content.count)
        _ = flow.follow(consumer.transferDidReceive(ContentBytes(content)))
        guard message.wantsReadComplete, !isInBurst, let pool else { return }
        isInBurst = true
        pool.context.atEndOfTurn(self)
    }

    /// Counts content of the request that was handed to the connection, and notifies the consumer.
    func didSend(_ byteCount: Int, expected: Int64?) {
        guard byteCount > 0 else { return }
        sending.progress = .begun
        sending.byteCount += Int64(byteCount)
        reports.current.requestBodyByteCount = sending.byteCount
        noteSent(byteCount)
        consumer?.transferDidSend(byteCount, total: sending.byteCount, expected: expected)
    }

    /// Notes that all content of the request was handed to the connection.
    ///
    /// `pump` supplied the content, but its reader may not have ended. Except for a file, the reader is then read once
    /// more: content beyond the announced length fails the exchange.
    func didSendAll(of pump: BodyPump? = nil) {
        guard sending.progress == .begun, let pool else { return }
        sending.progress = .whole
        reports.current.requestEnd = reports.moment(pool.context.now)
        guard let pump, pump.looksBehindEnd else { return }
        sending.exhaustedPump = pump
        pump.whenReady = { [weak self] in self?.lookBehindContent() }
        // The check is posted, since it may end the exchange, which is not allowed inside a callback of nghttp2.
        loopPool.loop.post { [weak self] _ in self?.lookBehindContent() }
    }

    private func lookBehindContent() {
        guard let pump = sending.exhaustedPump else { return }
        let supply = withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { pump.read(into: $0) }
        switch supply {
        case .bytes, .starved: break
        case .end: sending.exhaustedPump = nil
        case .failed(let error): end(.unreadableBody(error))
        }
    }
}

extension Exchange: TurnEnding {
    /// Notifies the consumer that the content received in this turn was delivered, and of the end of the exchange.
    func turnEnds() {
        guard let consumer else { return }
        if isInBurst {
            isInBurst = false
            if pendingFailure == nil { consumer.transferDidCompleteRead() }
        }
        guard stage == .finished else { return }
        self.consumer = nil
        var end = TransferEnd(outcome, report: reports.current, requestContent: sending.progress, trailers: trailers)
        end.earlierReports = reports.earlier
        consumer.transferDidFinish(end)
    }
}
