// The look-up of a dialer's host.

import CCurl
import Foundation

/// A look-up that a dialer waits for.
struct DialerLookup {
    let ticket: HostResolver.Ticket
    let addresses: OriginAddresses
    let start: LoopInstant
}

extension SocketDialer {
    /// Looks the host up and connects then; the look-up is a part of the time for making a connection.
    func lookUp(_ addresses: OriginAddresses) {
        let reply = LookupReply(self)
        let ticket = HostResolver.shared.lookUp(addresses.host) { [loop = context.loop] outcome in
            loop.post { _ in reply.dialer?.lookupEnded(outcome) }
        }
        lookup = DialerLookup(ticket: ticket, addresses: addresses, start: context.now)
        guard let limit = settings.options.connectTimeout, limit > .zero else { return }
        deadline = context.now.addingSaturating(limit.nanoseconds)
    }

    private func lookupEnded(_ outcome: HostResolver.Outcome) {
        guard let lookup, !isHungUp else { return }
        self.lookup = nil
        deadline = nil
        lookedUp = max(1, Int64((max(context.now, lookup.start) - lookup.start) / 1000))
        owner.connectionDidProgress()
        switch outcome {
        case .addresses(let found):
            lookup.addresses.note(found, at: context.now)
            setAddresses(curl_slist_append(nil, lookup.addresses.entry))
        case .scoped: break  // libcurl looks it up
        case .failed(let text): return owner.connectionDidFail(.hostNotFound(lookup.addresses.host, text))
        }
        if let limit = settings.options.connectTimeout, limit > .zero {
            let rest = settings.options.connectTimeoutMilliseconds - Int(lookedUp / 1000)
            set(CURLOPT_CONNECTTIMEOUT_MS, max(1, rest))
        }
        connect()
    }

    func lookupTimedOut() {
        guard let lookup else { return }
        HostResolver.shared.cancel(lookup.ticket)
        self.lookup = nil
        owner.connectionDidFail(
            .exchange(
                .timedOut, detail: "looking up \(lookup.addresses.host) took too long",
                engineCode: Int(CURLE_OPERATION_TIMEDOUT.rawValue)))
    }
}

/// Carries an answer to a dialer that may be gone by then.
private final class LookupReply: @unchecked Sendable {
    // SAFETY: made and read on the loop's thread only; the resolver merely holds the reference to this object.
    private(set) weak var dialer: SocketDialer?

    init(_ dialer: SocketDialer) { self.dialer = dialer }
}
