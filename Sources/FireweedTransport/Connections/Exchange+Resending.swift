// The second sending of an exchange's message.

import Foundation

extension Exchange {
    /// Whether an answer says that the connection is the wrong one, and the message can go out on another one.
    ///
    /// A 421 was not processed, so that any method may be repeated (RFC 9110 §15.5.20), once. On a connection that was
    /// made for this exchange it is the response.
    func isMisdirected(by head: ResponseHead, isReused: Bool) -> Bool {
        guard head.status == 421, isReused, !isRepeated, discardedByteCount == nil else { return false }
        return (try? prepareContent()) != nil
    }

    /// Makes the content ready for a message whose connection was lost.
    ///
    /// - Parameter failure: why the connection was lost.
    /// - Throws: the same with a sentence more, where the content cannot be read twice; else what the reader throws.
    func prepareContent(after failure: TransferFailure) throws(TransferFailure) {
        do {
            try prepareContent()
        } catch let error as URLError where error.code == .requestBodyStreamExhausted {
            throw failure.withoutRepetition
        } catch {
            throw error as? TransferFailure ?? .unreadableBody(error)
        }
    }

    /// Content that can be read once says so here, before the first try is given up.
    func prepareContent() throws {
        guard message.content.isRead, preparedContent == nil else { return }
        preparedContent = try OutgoingContent(message.content, file, loop: loopPool.loop)
    }

    /// Begins to send the content of a message of this exchange; throws what its reader throws.
    func makeContent(of message: RequestMessage) throws -> OutgoingContent {
        if message.content.isRead, let prepared = preparedContent.take() { return prepared }
        return try OutgoingContent(message.content, file, loop: loopPool.loop)
    }
}

extension TransferFailure {
    /// The failure of a try after which the message would have to be sent again, and cannot be.
    fileprivate var withoutRepetition: TransferFailure {
        guard case .exchange(let code, let detail, let engineCode) = self else { return self }
        let reason = "the message could not be sent again, since its content is a stream that was read already"
        return .exchange(code, detail: "\(detail); \(reason)", engineCode: engineCode)
    }
}
