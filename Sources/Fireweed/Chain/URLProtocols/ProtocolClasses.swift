// The `URLProtocol` classes of a session: which of them takes an exchange.

import Foundation
import FoundationNetworking
import Synchronization

/// The classes of a configuration's `protocolClasses` except Foundation's own, in the configuration's order.
///
/// On Linux every configuration has Foundation's classes for HTTP, FTP and WebSockets. They are ignored, since the
/// session's transport does their work. So a class is asked even if Foundation's classes come before it.
struct ProtocolClasses: Sendable {
    private let classes: [URLProtocol.Type]

    /// The classes that a new configuration has.
    private static let builtIn = Set(
        (URLSessionConfiguration.default.protocolClasses ?? []).map(ObjectIdentifier.init))

    /// `nil` when the configuration has only Foundation's own classes.
    init?(_ configuration: URLSessionConfiguration) {
        let listed = configuration.protocolClasses ?? []
        classes = listed.compactMap { $0 as? URLProtocol.Type }.filter { !Self.builtIn.contains(ObjectIdentifier($0)) }
        if classes.isEmpty { return nil }
    }

    /// Returns the first class that accepts the host's task, and that class's canonical form of the request.
    ///
    /// Called on the `ProtocolThread`. Each call of a class gets a new request from `makeRequest`, since a class may
    /// read the content's stream.
    func accepting(_ host: any ProtocolHost, _ makeRequest: () -> URLRequest) -> (
        type: URLProtocol.Type, request: URLRequest
    )? {
        let type = classes.first { type in
            host.offering(ProtocolOffer(request: makeRequest(), isAccepted: false)) { type.canInit(with: $0) }
        }
        return type.map { ($0, $0.canonicalRequest(for: makeRequest())) }
    }
}

/// The request that a class sees instead of the task's own.
///
/// `URLProtocol.canInit(with:)` reads a task's `currentRequest`. On Linux,
/// `URLProtocol.init(task:cachedResponse:client:)` performs the task's `originalRequest`.
struct ProtocolOffer: Sendable {
    let request: URLRequest
    /// True while the protocol is made, false while the class is asked.
    let isAccepted: Bool
}
