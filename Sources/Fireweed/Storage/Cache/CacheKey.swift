// The key of stored responses (RFC 9111 §2).

import FireweedTransport
import Foundation

/// The key of a message's target: the normalised URI, without fragment and user information (RFC 9110 §4.2.3), and a
/// digest of everything else that decides which server answers.
///
/// If a message has its own `Host` field, its target URI is not its URL (RFC 9110 §7.1), and a session may connect to
/// other places than its URLs name (``CacheScope``). Look-ups, storing and invalidation take only keys of this type, so
/// that they agree. The method is not part of the key: only responses to GET are stored.
struct CacheKey: Sendable {
    /// The key as stores know it: a URI, with the digest as its fragment.
    let text: String
    private let url: URL
    private let host: String?
    private let scope: CacheScope

    /// The key of a URL; `host` is the message's own `Host` field, if it has one.
    init(_ url: URL, host: String?, in scope: CacheScope) {
        self.init(url, foreignHost: host.flatMap { Self.foreign($0, to: url) }, scope)
    }

    private init(_ url: URL, foreignHost: String?, _ scope: CacheScope) {
        self.url = url
        self.scope = scope
        host = foreignHost
        let digest = scope.place(of: url, host: foreignHost).map { Hash.sha256.hexadecimalDigest(of: $0) }
        let uri = Self.text(of: url)
        text = digest.map { "\(uri)#\($0)" } ?? uri
    }

    /// Returns the key of the target that a URI reference in a response names; `nil` when the target has another
    /// origin.
    func named(by reference: String) -> CacheKey? {
        // The server's references are relative to the host in the `Host` field.
        let base = host.flatMap { Self.replacing(authorityOf: url, by: $0) } ?? url
        guard let target = RedirectRules.target(of: reference, from: base) else { return nil }
        if RedirectRules.isSameOrigin(target, url) { return CacheKey(target, foreignHost: host, scope) }
        guard host != nil, RedirectRules.isSameOrigin(target, base) else { return nil }
        return Self.replacing(authorityOf: target, by: Self.authority(of: url)).map {
            CacheKey($0, foreignHost: host, scope)
        }
    }

    // MARK: Hosts

    /// The normalised host of a `Host` field; `nil` when it is the URL's host.
    private static func foreign(_ field: String, to url: URL) -> String? {
        let scheme = url.scheme?.lowercased() ?? ""
        let normalised = host(field[...], scheme: scheme)
        return normalised == host(authority(of: url)[...], scheme: scheme) ? nil : normalised
    }

    private static func authority(of url: URL) -> String {
        let rest = url.absoluteString.range(of: "://").map { url.absoluteString[$0.upperBound...] } ?? ""
        return String(rest.prefix { !"/?#".contains($0) })
    }

    private static func replacing(authorityOf url: URL, by authority: String) -> URL? {
        let text = url.absoluteString
        guard let start = text.range(of: "://")?.upperBound else { return nil }
        let rest = text[start...].drop { !"/?#".contains($0) }
        return URL(string: "\(text[..<start])\(authority)\(rest)")
    }

    // MARK: URIs

    /// The normalised URI of a URL, without fragment and user information.
    static func text(of url: URL) -> String {
        var text = url.absoluteString
        return text.withUTF8 { isNormal(UnsafeRawBufferPointer($0)) } ? text : normalised(text)
    }

    /// Whether the text is normalised already, as most URLs are.
    private static func isNormal(_ text: UnsafeRawBufferPointer) -> Bool {
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")), text[colon...].starts(with: "://".utf8),
            !text[..<colon].contains(where: { (0x41...0x5A).contains($0) })
        else { return false }
        let rest = text[(colon + 3)...]
        guard let end = rest.firstIndex(where: { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 || $0 == 0x40 }),
            text[end] == UInt8(ascii: "/"), !text[end...].contains(UInt8(ascii: "#"))
        else { return false }
        let hostEnd = rest[..<end].firstIndex(of: UInt8(ascii: ":")) ?? end
        let port = text[hostEnd..<end].dropFirst()
        return CanonicalHost.isCanonical(UnsafeRawBufferPointer(rebasing: rest[..<hostEnd]))
            && (hostEnd == end || !port.isEmpty && !port.elementsEqual("80".utf8) && !port.elementsEqual("443".utf8))
    }

    private static func normalised(_ text: String) -> String {
        let whole = text.prefix { $0 != "#" }
        guard let colon = whole.firstIndex(of: ":") else { return String(whole) }
        let scheme = whole[..<colon].lowercased()
        let hierarchy = whole[colon...].dropFirst().drop { $0 == "/" }
        let authority = hierarchy.prefix { $0 != "/" && $0 != "?" }
        let path = hierarchy[authority.endIndex...]
        return "\(scheme)://\(host(authority, scheme: scheme))\(path.hasPrefix("/") ? "" : "/")\(path)"
    }

    /// The canonical host, and the port unless it is the scheme's default; without user information.
    private static func host(_ authority: Substring, scheme: String) -> String {
        let place = authority.lastIndex(of: "@").map { authority[$0...].dropFirst() } ?? authority
        let colon = place.lastIndex(of: ":").flatMap { place[$0...].contains("]") ? nil : $0 } ?? place.endIndex
        let name = CanonicalHost.identity(of: String(place[..<colon]))
        let host = name.contains(":") ? "[\(name)]" : name
        let port = place[colon...].dropFirst()
        let isUsual = port.isEmpty || scheme == "http" && port == "80" || scheme == "https" && port == "443"
        return isUsual ? host : "\(host):\(port)"
    }
}
