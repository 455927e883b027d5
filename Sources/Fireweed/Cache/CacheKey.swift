// What stored responses are found by (RFC 9111 §2).

import FireweedTransport
import Foundation

/// The key of a target URI: the normalised URI, without fragment and user information (RFC 9110 §4.2.3).
///
/// The method is not part of the key: only responses to GET are stored.
enum CacheKey {
    static func text(of url: URL) -> String {
        var text = url.absoluteString
        return text.withUTF8 { isNormal(UnsafeRawBufferPointer($0)) } ? text : normalised(text)
    }

    /// Whether the text is its own normal form, as it is for most URLs.
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

    /// The canonical host, and the port unless it is the scheme's own; without user information.
    private static func host(_ authority: Substring, scheme: String) -> String {
        let place = authority.lastIndex(of: "@").map { authority[$0...].dropFirst() } ?? authority
        let colon = place.lastIndex(of: ":").flatMap { place[$0...].contains("]") ? nil : $0 } ?? place.endIndex
        let name = CanonicalHost.text(of: String(place[..<colon]))
        let host = name.contains(":") ? "[\(name)]" : name
        let port = place[colon...].dropFirst()
        let isUsual = port.isEmpty || scheme == "http" && port == "80" || scheme == "https" && port == "443"
        return isUsual ? host : "\(host):\(port)"
    }
}
