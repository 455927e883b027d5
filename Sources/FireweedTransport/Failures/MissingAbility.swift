// Abilities that a session needs and its transport lacks.

public import Foundation

/// Something that a session was asked for, and that its transport cannot do.
public enum MissingAbility: Error, Sendable, Hashable {
    /// The session has a `ServerTrustManager`, and the transport judges servers by rules of its own.
    case serverTrust
    /// The request opens a WebSocket.
    case webSockets
}

extension MissingAbility: CustomStringConvertible, LocalizedError {
    /// A sentence that says what is missing.
    public var description: String {
        switch self {
        case .serverTrust: "the session's transport cannot judge servers by a ServerTrustManager"
        case .webSockets: "the session's transport has no WebSockets"
        }
    }

    /// The description.
    public var errorDescription: String? { description }
}
