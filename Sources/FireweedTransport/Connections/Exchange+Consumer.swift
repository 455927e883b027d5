// What an exchange's consumer is told.

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
        report.responseDecodedByteCount += Int64(content.count)
        _ = flow.follow(consumer.transferDidReceive(ContentBytes(content)))
        guard message.wantsReadComplete, !isInBurst, let pool else { return }
        isInBurst = true
        pool.context.atEndOfTurn(self)
    }

    /// Content of the request was handed to the connection.
    func didSend(_ byteCount: Int, expected: Int64?) {
        guard byteCount > 0 else { return }
        requestContent = .begun
        sentByteCount += Int64(byteCount)
        report.requestBodyByteCount = sentByteCount
        noteSent(byteCount)
        consumer?.transferDidSend(byteCount, total: sentByteCount, expected: expected)
    }

    /// The content of the request was handed to the connection whole.
    func didSendAll() {
        guard requestContent == .begun, let pool else { return }
        requestContent = .whole
        report.requestEnd = moment(pool.context.now)
    }
}

extension Exchange: TurnEnding {
    /// Tells the consumer that no more has come, or of the end.
    func turnEnds() {
        guard let consumer else { return }
        if isInBurst {
            isInBurst = false
            if pendingFailure == nil { consumer.transferDidCompleteRead() }
        }
        guard stage == .finished else { return }
        self.consumer = nil
        var end = TransferEnd(outcome, report: report, requestContent: requestContent, trailers: trailers)
        end.earlierReports = earlierReports
        consumer.transferDidFinish(end)
    }
}
