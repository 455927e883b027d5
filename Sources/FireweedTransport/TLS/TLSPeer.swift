// Whom a handshake is made with.

/// The peer of a TLS handshake, and how it is judged.
struct TLSPeer {
    let host: String
    let port: UInt16
    /// Whether it is a proxy, which has authorities of its own and sees no identity.
    let isProxy: Bool
    /// The protocols that are offered (RFC 7301), the first one preferred; empty for no offer.
    let offer: [ApplicationProtocol]
    let rule: HandshakeJudge.Rule

    /// The peer for an origin.
    init(origin key: OriginKey, settings: PoolSettings) {
        host = key.host
        port = key.port
        isProxy = false
        offer = settings.options.offersALPN ? ApplicationProtocol.offer(for: settings.options.httpVersion) : []
        rule = settings.rule(forHost: key.host)
    }

    /// The name that the server is told (RFC 6066 §3); `nil` for an address.
    var serverName: String? { CanonicalHost.isAddress(host) ? nil : host }
}

extension ApplicationProtocol {
    /// What is offered to a server.
    ///
    /// The engine has no HTTP/2 yet.
    static func offer(for version: RequestMessage.HTTPVersion) -> [ApplicationProtocol] {
        [.http1]
    }

    /// The name in ALPN.
    var name: String {
        switch self {
        case .http1: "http/1.1"
        case .http2: "h2"
        }
    }
}
