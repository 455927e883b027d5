// The properties that requests on a shared connection have in common.

import Foundation

/// The scheme, host and port that a connection is for (RFC 9110 §4.3.1).
///
/// All else that a connection depends on (overrides, guard, trust, identity) is the session's, as connections are.
struct OriginKey: Hashable, Sendable {
    var isSecure: Bool
    /// In its canonical form, without brackets; an IPv6 address with its zone where it is dialled from here.
    var host: String
    /// Whether the URL's host ends in a dot: a complete name, which another machine may have than the name without it,
    /// since that may be searched for (RFC 1034 §3.1).
    var isCompleteName: Bool
    var port: UInt16
    /// The proxy on the way, with its credentials; `nil` for a direct connection.
    var proxy: Proxy?
    /// Fields of the message's own for the proxy that makes the tunnel, each with its CRLF; mostly empty.
    var tunnelLines: [UInt8] = []
    /// Whom a connection may be authenticated for (NTLM, Negotiate), over HTTP/1.1 alone; `nil` for most connections,
    /// which serve everybody.
    var user: RequestMessage.Credentials?
    /// The digest of the client certificate that messages depend on; `nil` for most connections.
    var clientCertificate: Data?

    /// The origin of a target.
    init(_ target: RequestTarget, proxy: Proxy?) {
        self.proxy = proxy
        isSecure = target.isSecure
        // The zone of an address is this machine's, and nothing to a proxy (RFC 6874 §4).
        host = proxy == nil ? target.canonicalHost : CanonicalHost.withoutZone(target.canonicalHost)
        isCompleteName = target.isCompleteName
        port = UInt16(truncatingIfNeeded: target.port)
    }

    /// The host in the form in which it is looked up, here or by a proxy.
    var lookupName: String { isCompleteName ? host + "." : host }

    /// The proxy that takes messages in the absolute form (RFC 9112 §3.2.2); `nil` where there is none.
    var absoluteFormProxy: Proxy? {
        guard !isSecure, let proxy, proxy.takesAbsoluteForm else { return nil }
        return proxy
    }
}

extension OriginKey {
    /// The origin of a message that is sent through a tunnel, if there is a proxy: what the message says to the proxy
    /// belongs to the tunnel.
    ///
    /// Throws `badURL` with the name of a field that cannot be sent.
    init(_ target: RequestTarget, tunnelledBy proxy: Proxy?, for message: RequestMessage) throws(TransferFailure) {
        self.init(target, proxy: proxy)
        guard proxy?.isHTTP == true, message.fields.contains("Proxy-Authorization") else { return }
        let own = message.fields.fields.filter { $0.name.isEqualIgnoringASCIICase("Proxy-Authorization") }
        tunnelLines = try CheckedFields(FieldBlock(own)).proxyLines
    }
}
