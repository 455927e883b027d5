// Repeated sending of an exchange's message.

import Foundation

extension Exchange {
    /// Whether a 421 response says that this connection cannot serve the message, and the message can be sent on
    /// another connection.
    ///
    /// A server does not process a message that it answers with 421, so any method may be sent again (RFC 9110
    /// §15.5.20), once. On a connection that was made for this exchange, the 421 is delivered as the response.
    func isMisdirected(by head: ResponseHead, isReused: Bool) -> Bool {
        guard head.status == 421, isReused, !tries.isRepeated, !isDiscarding else { return false }
        return (try? prepareContent()) != nil
    }

    /// Prepares the content of a message that is sent again after its connection was lost.
    ///
    /// - Parameter failure: why the connection was lost.
    /// - Throws: `failure` with an additional sentence if the content cannot be read twice; otherwise the reader's
    ///   error.
    func prepareContent(after failure: TransferFailure) throws(TransferFailure) {
        do {
            try prepareContent()
        } catch let error as URLError where error.code == .requestBodyStreamExhausted {
            throw failure.withoutRepetition
        } catch {
            throw error as? TransferFailure ?? .unreadableBody(error)
        }
    }

    /// Begins to read the content for the next try, while the current try still runs; throws for content that can be
    /// read only once.
    func prepareContent() throws {
        guard message.content.isRead, sending.prepared == nil else { return }
        sending.prepared = try OutgoingContent(message.content, file, loop: loopPool.loop)
    }

    /// Returns the content of a message of this exchange, ready to be sent; rethrows the error of the content's reader.
    func makeContent(of message: RequestMessage) throws -> OutgoingContent {
        if message.content.isRead, let prepared = sending.prepared.take() { return prepared }
        return try OutgoingContent(message.content, file, loop: loopPool.loop)
    }
}

extension TransferFailure {
    /// This failure, with the additional sentence that the message could not be sent again.
    fileprivate var withoutRepetition: TransferFailure {
        guard case .exchange(let code, let detail, let engineCode) = self else { return self }
        let reason = "the message could not be sent again, since its content is a stream that was read already"
        return .exchange(code, detail: "\(detail); \(reason)", engineCode: engineCode)
    }
}
