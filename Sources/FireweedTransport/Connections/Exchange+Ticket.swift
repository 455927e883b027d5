// The token of Negotiate that an exchange waits for.

/// The state of the token of Negotiate for an exchange.
enum ExchangeTicket {
    /// No token was asked for, or the token has been sent: a token counts once.
    case unasked
    /// The exchange waits for one.
    case asked
    /// There is one, or there is none to be had.
    case known([UInt8]?)
}

/// Where tokens are waited for: the library may ask a server for a ticket.
private let ticketThreads = BlockingThreads(name: "fireweed-ticket", limit: 4)

extension Exchange {
    /// Whether the exchange may want a connection: it has its token, or needs none.
    ///
    /// Otherwise a token is asked for, and the exchange arrives when it is known.
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

    /// The token, for one message.
    func takeNegotiateToken() -> [UInt8]? {
        guard case .known(let token) = ticket else { return nil }
        ticket = .unasked
        return token
    }
}
