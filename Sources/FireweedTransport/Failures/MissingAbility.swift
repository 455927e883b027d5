// Abilities that a session needs and its transport lacks.

public import Foundation

/// An ability that a session or a request needs and the session's transport lacks.
public enum MissingAbility: Error, Sendable, Hashable {
    /// The session has a `ServerTrustManager`, and the transport cannot evaluate servers with it.
    case serverTrust
    /// The request opens a WebSocket.
    case webSockets
}

extension MissingAbility: CustomStringConvertible, LocalizedError {
    /// A sentence that names the missing ability.
    public var description: String {
        switch self {
        case .serverTrust: "the session's transport cannot judge servers by a ServerTrustManager"
        case .webSockets: "the session's transport has no WebSockets"
        }
    }

    /// The description.
    public var errorDescription: String? { description }
}
