// The request that a message belongs to.

public import Foundation

/// The request that a message belongs to, and the message's place in it.
///
/// Transports other than ``EngineTransport`` get it by ``RequestMessage/owner``.
public struct MessageOwner: Sendable {
    /// The identity of the request.
    public var requestID: UUID
    /// The number of the attempt: 0 for the first one, 1 after one retry or reconnection.
    public var attemptNumber: Int
    /// The number of the message among all messages of the request: 0 for the first one.
    ///
    /// A redirect, an answer to a challenge and a retry make the next message. A response from the cache has no
    /// message. A message that a guard sends twice keeps its number.
    public var messageNumber: Int
    /// The values of the request when the message was sent.
    public var values: RequestValues

    /// Makes an owner.
    ///
    /// - Parameters:
    ///   - requestID: the identity of the request.
    ///   - attemptNumber: the number of the attempt, from 0; 0 by default.
    ///   - messageNumber: the number of the message among all of the request, from 0; 0 by default.
    ///   - values: the values of the request; none by default.
    public init(
        requestID: UUID, attemptNumber: Int = 0, messageNumber: Int = 0, values: RequestValues = RequestValues()
    ) {
        self.requestID = requestID
        self.attemptNumber = attemptNumber
        self.messageNumber = messageNumber
        self.values = values
    }
}

/// The key of a request's URL template, which ``MessageOwner/urlTemplate`` reads.
public enum URLTemplateKey: RequestValueKey {
    /// The template, as `/users/{id}`.
    public typealias Value = String
}

extension MessageOwner {
    /// The URL template of the request, as `/users/{id}`; `nil` when it has none.
    ///
    /// Metrics and traces name the kind of target by it, since there are too many different paths.
    public var urlTemplate: String? { values[URLTemplateKey.self] }
}
