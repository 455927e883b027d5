// The target of a connection, and the options for reaching it.

import Foundation
import Glibc

/// The peer of a new connection, and the options for reaching it.
struct DialTarget {
    /// The host in the form in which it is looked up, and the port; or the path of a Unix-domain socket.
    enum Destination: Hashable {
        case host(String, port: UInt16)
        case path(String)
    }

    let place: Destination
    /// The layers above the socket, in order.
    let layers: [DialLayer]
    /// Whether the connection is for a WebSocket or a `ByteConnection`; an HTTP proxy then makes a tunnel for clear
    /// text too (RFC 6455 §4.1).
    let isForUpgrade: Bool
    /// The message's own field lines for the CONNECT request, each with its CRLF.
    let tunnelLines: [UInt8]
    /// Nonces that proxies have accepted.
    let digests: DigestSessions
    /// Whether `place` is a proxy.
    let isProxied: Bool
    let overrides: [String: [String]]
    let addressGuard: AddressGuard
    /// The families of addresses that may be used.
    let families: Set<AddressFamily>
    /// The local interface or address of the connection; `nil` leaves the choice to the kernel.
    let networkInterface: String?
    /// Whether HTTP/2 is not offered: for an upgrade, for credentials that authenticate a connection, or since the
    /// server requires HTTP/1.1.
    var isLimitedToHTTP1: Bool
    /// Whether HTTP/2 is spoken in clear text, by prior knowledge (RFC 9113 §3.3).
    private let assumesHTTP2: Bool
    /// The longest time to connect, in nanoseconds; `nil` for no limit.
    let timeout: LoopInstant?

    /// The protocol of a connection without TLS, and so without ALPN.
    var clearTextProtocol: ApplicationProtocol { assumesHTTP2 && !isLimitedToHTTP1 ? .http2 : .http1 }

    /// Makes the target for an origin from the options of a session.
    init(_ key: OriginKey, options: TransportOptions, digests: DigestSessions, isForUpgrade: Bool = false) {
        let (host, port) = options.connectionRoutes.place(
            forHost: key.host, lookedUpAs: key.lookupName, port: key.port)
        layers = DialLayer.layers(to: key, host: host, port: port, tunnelsClearText: isForUpgrade)
        self.isForUpgrade = isForUpgrade
        isLimitedToHTTP1 = isForUpgrade || key.user != nil
        tunnelLines = key.tunnelLines
        self.digests = digests
        isProxied = key.proxy != nil
        place =
            options.unixSocketPath.map { .path($0) }
            ?? key.proxy.map { .host(CanonicalHost.identity(of: $0.host), port: UInt16(truncatingIfNeeded: $0.port)) }
            ?? .host(host, port: port)
        overrides = options.addressOverrides
        addressGuard = options.addressGuard
        networkInterface = options.networkInterface
        // HTTP/2 is not assumed for a proxy that gets messages in the absolute form: they are sent over HTTP/1.1 only.
        assumesHTTP2 = options.httpVersion == .http2 && key.proxy?.takesAbsoluteForm != true
        timeout = options.connectTimeout.flatMap { $0 > .zero ? $0.nanoseconds : nil }
        switch options.ipVersion {
        case .any: families = Set(AddressFamily.allCases)
        case .v4: families = [.ipv4]
        case .v6: families = [.ipv6]
        }
    }
}

/// The local address or interface of a connection.
enum LocalEnd {
    /// Binds a socket to a local interface or address; returns 0, or the errno of a failure.
    ///
    /// The text has curl's form: `if!NAME`, `host!ADDRESS`, or a bare name or address, tried as an interface first.
    /// Binding to an interface may need privileges (SO_BINDTODEVICE before Linux 5.7); a refusal is an error, since
    /// traffic must not leave by another interface.
    static func bind(_ descriptor: Int32, to text: String, family: AddressFamily) -> Int32 {
        // As a C string, the text would end at the NUL, and could name another interface.
        guard !text.utf8.contains(0) else { return EINVAL }
        let isName = text.hasPrefix("if!")
        let isHost = text.hasPrefix("host!")
        let name = isName ? String(text.dropFirst(3)) : isHost ? String(text.dropFirst(5)) : text
        if !isHost, if_nametoindex(name) != 0 {
            let status = name.withCString {
                setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, $0, socklen_t(strlen($0) + 1))
            }
            return status == 0 ? 0 : errno
        }
        guard !isName, let address = IPAddress(name) else { return ENODEV }
        let local = SocketAddress.internet(address, port: 0)
        guard local.family == family else { return EAFNOSUPPORT }
        return local.withSocketAddress { Glibc.bind(descriptor, $0, $1) } == 0 ? 0 : errno
    }
}
