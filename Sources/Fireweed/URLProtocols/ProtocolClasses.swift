// The `URLProtocol` classes of a session: which of them takes an exchange.

import Foundation
import FoundationNetworking
import Synchronization

/// The classes of a configuration's `protocolClasses` that are not Foundation's own, in the configuration's order.
///
/// Foundation's classes for HTTP, FTP and WebSockets are in every configuration on Linux. They do not count: the
/// session's transport does their work. So a class is asked wherever it is in the list.
struct ProtocolClasses: Sendable {
    private let classes: [URLProtocol.Type]

    /// The classes that a new configuration has.
    private static let builtIn = Set(
        (URLSessionConfiguration.ephemeral.protocolClasses ?? []).map(ObjectIdentifier.init))

    /// `nil` when the configuration has no class but Foundation's own.
    init?(_ configuration: URLSessionConfiguration) {
        let listed = configuration.protocolClasses ?? []
        classes = listed.compactMap { $0 as? URLProtocol.Type }.filter { !Self.builtIn.contains(ObjectIdentifier($0)) }
        if classes.isEmpty { return nil }
    }

    /// The first class that takes the host's task, with the request in the canonical form of that class.
    ///
    /// Called on the thread of the protocols.
    ///
    /// - Parameter makeRequest: makes the request. Each call of a class gets a request of its own, since a class may
    ///   read the content's stream.
    func accepting(_ host: any ProtocolHost, _ makeRequest: () -> URLRequest) -> (
        type: URLProtocol.Type, request: URLRequest
    )? {
        let type = classes.first { type in
            host.offering(ProtocolOffer(request: makeRequest(), isAccepted: false)) { type.canInit(with: $0) }
        }
        return type.map { ($0, $0.canonicalRequest(for: makeRequest())) }
    }
}

/// The request that a class sees in place of the task's own.
///
/// `URLProtocol.canInit(with:)` reads a task's `currentRequest`, and `URLProtocol.init(task:cachedResponse:client:)` on
/// Linux takes the task's `originalRequest` for the request that is to be performed.
struct ProtocolOffer: Sendable {
    let request: URLRequest
    /// True while the class is made, false while it is asked.
    let isAccepted: Bool
}
