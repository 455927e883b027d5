// The Negotiate token that an exchange waits for.

/// The state of an exchange's Negotiate token.
enum ExchangeTicket {
    /// No token was requested, or the token was used: a token is valid once.
    case unasked
    /// The exchange waits for a token.
    case asked
    /// The token, or `nil` if none could be obtained.
    case known([UInt8]?)
}

/// Threads that get tokens, since the Kerberos library may block while it asks a server for a ticket.
private let ticketThreads = BlockingThreads(name: "fireweed-ticket", limit: 4)

extension Exchange {
    /// Whether the exchange may enter the queue: it has its token, or needs none.
    ///
    /// Otherwise requests a token; the exchange enters the queue when the result is known.
    var hasTicket: Bool {
        guard message.wantsNegotiateToken, let pool, let host = target?.host else { return true }
        switch ticket {
        case .known: return true
        case .asked: return false
        case .unasked: break
        }
        ticket = .asked
        let getToken = pool.parts.negotiateToken
        ticketThreads.run { [self] failure in
            let token = failure == nil ? getToken(host) : nil
            loopPool.withPool { [self] pool in
                ticket = .known(token)
                if stage == .waiting, flow.level != .suspended { pool.arrive(self) }
            }
        }
        return false
    }

    /// Removes and returns the token, which is valid for one message.
    func takeNegotiateToken() -> [UInt8]? {
        guard case .known(let token) = ticket else { return nil }
        ticket = .unasked
        return token
    }
}
