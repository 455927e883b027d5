// Transfers that wait for the addresses of their hosts.

import CCurl
import Foundation

/// A look-up that a transfer waits for.
struct PendingLookup {
    let ticket: HostResolver.Ticket
    let start: LoopInstant
}

extension ConnectionPool {
    /// True when the transfer has to wait, and `lookupEnded` will be called; false when it may be given to libcurl.
    func waitsForAddresses(_ transfer: Transfer) -> Bool {
        guard let queue = transfer.queue, let addresses = queue.addresses, addresses.expiry <= context.now else {
            return false
        }
        guard sockets.open(of: queue.origin).isEmpty else {
            // There is a connection: no one has to be asked, and a name server that is gone must not be in the way.
            addresses.expiry = context.now + 1_000_000_000
            return false
        }
        touch(transfer)
        let ticket = HostResolver.shared.lookUp(addresses.host) { transfer.lookupEnded($0) }
        transfer.lookup = PendingLookup(ticket: ticket, start: context.now)
        return true
    }

    /// The moment at which a look-up has taken the whole time for making a connection.
    func lookupDeadline(of transfer: Transfer) -> LoopInstant? {
        guard let lookup = transfer.lookup, let limit = settings.options.connectTimeout, limit > .zero else {
            return nil
        }
        return lookup.start.addingSaturating(limit.nanoseconds)
    }

    /// Takes the addresses that a transfer waits for; `nil` when the transfer may go on, else why it fails.
    func takeAddresses(_ outcome: HostResolver.Outcome, for transfer: Transfer, _ lookup: PendingLookup)
        -> TransferFailure?
    {
        let now = context.now
        transfer.report.lookedUp = max(1, Int64((max(now, lookup.start) - lookup.start) / 1000))
        switch outcome {
        case .addresses(let found): transfer.queue?.addresses?.note(found, at: now)
        case .scoped: transfer.queue?.addresses?.note(nil, at: now)
        case .failed(let text): return .hostNotFound(transfer.queue?.addresses?.host ?? "", text)
        }
        return nil
    }
}

extension TransferFailure {
    /// A host has no address, or nobody knows; with the text of gai_strerror(3).
    static func hostNotFound(_ host: String, _ text: String) -> TransferFailure {
        .exchange(
            .cannotFindHost, detail: "Could not resolve host: \(host) (\(text))",
            engineCode: Int(CURLE_COULDNT_RESOLVE_HOST.rawValue))
    }
}
