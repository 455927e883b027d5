// The peer of a TLS handshake.

/// The peer of a TLS handshake, and the rule that evaluates it.
struct TLSPeer {
    let host: String
    let port: UInt16
    /// Whether the peer is a proxy: it is evaluated by authorities and name only, and gets no client identity.
    let isProxy: Bool
    /// The protocols to offer in ALPN (RFC 7301), the preferred protocol first; empty for no offer.
    let offer: [ApplicationProtocol]
    let rule: PeerRule

    /// Makes the peer for an origin; with `isLimitedToHTTP1`, HTTP/2 is not offered, whatever the options say.
    init(host: String, port: UInt16, settings: PoolSettings, isLimitedToHTTP1: Bool = false) {
        // Trust rules and certificates use addresses without a zone.
        let host = CanonicalHost.withoutZone(host)
        self.host = host
        self.port = port
        isProxy = false
        let version = isLimitedToHTTP1 ? .http1Only : settings.options.httpVersion
        offer = settings.options.offersALPN ? ApplicationProtocol.offer(for: version) : []
        rule = settings.rule(forHost: host)
    }

    /// Makes the peer for an HTTPS proxy; the session's rules for origins do not apply to a proxy.
    init(proxy: Proxy, settings: PoolSettings) {
        let host = CanonicalHost.text(of: proxy.host)
        self.host = host
        port = UInt16(truncatingIfNeeded: proxy.port)
        isProxy = true
        offer = settings.options.offersALPN ? [.http1] : []
        rule = PeerRule(
            host: host, authorities: settings.options.certificateAuthorities, mayWait: false,
            decide: PeerRule.authoritiesAndName)
    }

    /// The server name to send in the handshake (SNI, RFC 6066 §3); `nil` for an IP address.
    var serverName: String? { CanonicalHost.isAddress(host) ? nil : host }
}

extension ApplicationProtocol {
    /// Returns the protocols to offer to a server, the preferred protocol first.
    static func offer(for version: RequestMessage.HTTPVersion) -> [ApplicationProtocol] {
        switch version {
        case .http1Only: [.http1]
        case .automatic, .http2: [.http2, .http1]
        }
    }

    /// The protocol's name in ALPN.
    var name: String {
        switch self {
        case .http1: "http/1.1"
        case .http2: "h2"
        }
    }
}
