// The properties that requests on a shared connection have in common.

import Foundation

/// The properties of a connection that all its requests share: origin (RFC 9110 §4.3.1), proxy, user and certificate.
///
/// Other properties on which a connection depends (overrides, guard, trust, identity) belong to the session; sessions
/// share no connections.
struct OriginKey: Hashable, Sendable {
    var isSecure: Bool
    /// The canonical host, without brackets; an IPv6 address keeps its zone if there is no proxy.
    var host: String
    /// Whether the URL's host ends in a dot: such a complete name may belong to another machine than the name without
    /// the dot, for which search domains apply (RFC 1034 §3.1).
    var isCompleteName: Bool
    var port: UInt16
    /// The proxy on the way, with its credentials; `nil` for a direct connection.
    var proxy: Proxy?
    /// The message's own `Proxy-Authorization` lines for the CONNECT request, each with its CRLF; usually empty.
    var tunnelLines: [UInt8] = []
    /// The user for whom a connection may be authenticated (NTLM, Negotiate; HTTP/1.1 only); `nil` for most
    /// connections, which serve any user.
    var user: RequestMessage.Credentials?
    /// The digest of the client certificate that messages depend on; `nil` for most connections.
    var clientCertificate: Data?

    /// The origin of a target.
    init(_ target: RequestTarget, proxy: Proxy?) {
        self.proxy = proxy
        isSecure = target.isSecure
        // The zone of an address is valid on this machine only, not on a proxy (RFC 6874 §4).
        host = proxy == nil ? target.canonicalHost : CanonicalHost.withoutZone(target.canonicalHost)
        isCompleteName = target.isCompleteName
        port = UInt16(truncatingIfNeeded: target.port)
    }

    /// The host in the form for look-ups, here or by a proxy.
    var lookupName: String { isCompleteName ? host + "." : host }

    /// The proxy that gets messages in the absolute form (RFC 9112 §3.2.2); `nil` if there is none.
    var absoluteFormProxy: Proxy? {
        guard !isSecure, let proxy, proxy.takesAbsoluteForm else { return nil }
        return proxy
    }
}

extension OriginKey {
    /// The origin of a message that may be sent through a proxy's tunnel; the message's `Proxy-Authorization` fields
    /// are then sent in the CONNECT request.
    ///
    /// Throws `badURL` with the name of a field that cannot be sent.
    init(_ target: RequestTarget, tunnelledBy proxy: Proxy?, for message: RequestMessage) throws(TransferFailure) {
        self.init(target, proxy: proxy)
        guard proxy?.isHTTP == true, message.fields.contains("Proxy-Authorization") else { return }
        let own = message.fields.fields.filter { $0.name.isEqualIgnoringASCIICase("Proxy-Authorization") }
        tunnelLines = try CheckedFields(FieldBlock(own)).proxyLines
    }
}
