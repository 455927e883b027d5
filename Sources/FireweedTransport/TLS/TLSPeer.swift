// The peer of a TLS handshake.

/// The peer of a TLS handshake, and how it is judged.
struct TLSPeer {
    let host: String
    let port: UInt16
    /// Whether the peer is a proxy, which is evaluated by the authorities alone and is shown no client identity.
    let isProxy: Bool
    /// The protocols that are offered (RFC 7301), the first one preferred; empty for no offer.
    let offer: [ApplicationProtocol]
    let rule: PeerRule

    /// The peer for an origin; with `isLimitedToHTTP1`, HTTP/2 is not offered, whatever the options say.
    init(host: String, port: UInt16, settings: PoolSettings, isLimitedToHTTP1: Bool = false) {
        // Rules and certificates are for an address without its zone.
        let host = CanonicalHost.withoutZone(host)
        self.host = host
        self.port = port
        isProxy = false
        let version = isLimitedToHTTP1 ? .http1Only : settings.options.httpVersion
        offer = settings.options.offersALPN ? ApplicationProtocol.offer(for: version) : []
        rule = settings.rule(forHost: host)
    }

    /// The peer for a proxy over TLS: evaluated by the authorities and its name, not by the session's rules for
    /// origins.
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

    /// The server name for the handshake (SNI, RFC 6066 §3); `nil` for an address.
    var serverName: String? { CanonicalHost.isAddress(host) ? nil : host }
}

extension ApplicationProtocol {
    /// The protocols to offer to a server, the preferred protocol first.
    static func offer(for version: RequestMessage.HTTPVersion) -> [ApplicationProtocol] {
        switch version {
        case .http1Only: [.http1]
        case .automatic, .http2: [.http2, .http1]
        }
    }

    /// The name in ALPN.
    var name: String {
        switch self {
        case .http1: "http/1.1"
        case .http2: "h2"
        }
    }
}
