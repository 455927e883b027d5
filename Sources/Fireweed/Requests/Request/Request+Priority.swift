// The priority of a request.

public import FireweedTransport
import Synchronization

extension Request {
    /// Sets the priority of the request, for times when not all requests can be sent.
    ///
    /// The session's guards use the priority, such as ``ConcurrencyLimit``; it changes nothing on the wire. A call
    /// while an attempt is under way has an effect from the next attempt on.
    ///
    /// ```swift
    /// let user = try await session.request(url).priority(.important).serializingDecodable(User.self).value
    /// ```
    ///
    /// - Parameter priority: the priority; requests have ``TransferPriority/normal`` by default.
    /// - Returns: the request.
    @discardableResult
    public func priority(_ priority: TransferPriority) -> Self {
        mutable.withLock { state in state.withExtras { $0.priority = priority } }
        return self
    }

    /// The priority, deadline and similar properties of an attempt's messages, for guards and queues.
    var demands: RequestDemands {
        let isStream = parts.receiver.isStream
        return mutable.withLock { state in
            RequestDemands(
                priority: state.extras?.priority ?? .normal, deadline: state.extras?.deadline?.due,
                isStream: isStream, attemptNumber: state.retryCount)
        }
    }
}

/// The priority, deadline and similar properties of a request, for the guards and queues that its messages pass.
struct RequestDemands: Sendable {
    var priority = TransferPriority.normal
    /// The moment by which the request has to be over, on the session's clock; `nil` for none.
    var deadline: UInt64?
    var isStream = false
    /// The number of the attempt, from 0.
    var attemptNumber = 0

    /// Writes the demands into a message.
    func complete(_ message: inout RequestMessage) {
        message.priority = priority
        message.requestDeadlineNanoseconds = deadline
        message.isStream = isStream
    }
}
