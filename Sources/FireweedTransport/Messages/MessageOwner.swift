// The request to which a message belongs.

public import Foundation

/// The request to which a message belongs, and the message's position in it.
///
/// Transports other than ``EngineTransport`` get it from ``RequestMessage/owner``.
public struct MessageOwner: Sendable {
    /// The identity of the request.
    public var requestID: UUID
    /// The number of the attempt: 0 for the first, 1 after one retry or reconnection.
    public var attemptNumber: Int
    /// The number of the message among all messages of the request, from 0.
    ///
    /// A redirect, an answer to a challenge and a retry make another message. A response from the cache needs no
    /// message. If a guard sends a message twice, both have the same number.
    public var messageNumber: Int
    /// The values of the request when the message was sent.
    public var values: RequestValues

    /// Makes an owner.
    ///
    /// - Parameters:
    ///   - requestID: the identity of the request.
    ///   - attemptNumber: the number of the attempt, from 0; 0 by default.
    ///   - messageNumber: the number of the message among all messages of the request, from 0; 0 by default.
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

/// The key of a request's URL template; read the template with ``MessageOwner/urlTemplate``.
public enum URLTemplateKey: RequestValueKey {
    /// The template, such as `/users/{id}`.
    public typealias Value = String
}

extension MessageOwner {
    /// The URL template of the request, such as `/users/{id}`; `nil` if it has none.
    ///
    /// Metrics and traces use it instead of the path, since there are too many different paths.
    public var urlTemplate: String? { values[URLTemplateKey.self] }
}
