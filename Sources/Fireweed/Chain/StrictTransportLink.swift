// Strict transport security in the chain.

import FireweedTransport
import Foundation

/// Sends messages over TLS to hosts that require TLS, and remembers which hosts require it (RFC 6797 §8).
final class StrictTransportLink: Link {
    let store: StrictTransportSecurity
    let clock: any SessionClock
    /// Whether the session checks the identity of a host's servers.
    let checksIdentity: @Sendable (_ host: String) -> Bool

    init(
        store: StrictTransportSecurity, clock: any SessionClock,
        checksIdentity: @escaping @Sendable (_ host: String) -> Bool
    ) {
        self.store = store
        self.clock = clock
        self.checksIdentity = checksIdentity
    }

    var interest: HeadInterest { HeadInterest(marks: .hasStrictTransportSecurity) }

    func send(_ exchange: inout ChainContext, for host: any LinkContext) -> Decision {
        let url = store.secured(exchange.url, at: clock.now)
        if url != exchange.url {
            exchange.changeMessage { message in
                message.url = url
                message.urlRequest?.url = url
            }
        }
        return .pass
    }

    func observe(_ head: ResponseHead, in exchange: inout ChainContext, for host: any LinkContext) {
        // A server whose identity was not checked may be an attacker's: its field is ignored (RFC 6797 §8.1).
        guard let host = exchange.url.host, checksIdentity(host) else { return }
        store.note(head, from: exchange.url, at: clock.now)
    }
}
