// Where a request message goes, and what its request line says.

import Foundation

/// The parts of a message's URL that HTTP/1.1 needs (RFC 9112 §3.2), read from its bytes.
///
/// The URL is the message's, which was checked above for what a URL may be; here nothing may come through that would
/// end the request line or begin another.
package struct RequestTarget: Equatable, Sendable {
    /// True for `https`.
    package let isSecure: Bool
    /// The host as `Host` says it: a name in A-labels, an address, an IPv6 address in brackets without its zone.
    package let host: String
    /// The port of the URL, or its scheme's own.
    package let port: Int
    /// Path and query as they are written, which is the origin form (RFC 9112 §3.2.1).
    package let originForm: String

    /// Host and port, the port only where it is not the scheme's own (RFC 9110 §7.2).
    package var authority: String { port == (isSecure ? 443 : 80) ? host : "\(host):\(port)" }
    /// The authority form with its port, for CONNECT (RFC 9112 §3.2.3).
    package var authorityForm: String { "\(host):\(port)" }
    /// The absolute form without userinfo and fragment, for proxies (RFC 9112 §3.2.2).
    package var absoluteForm: String { "\(isSecure ? "https" : "http")://\(authority)\(originForm)" }

    /// Reads an absolute `http` or `https` URL.
    ///
    /// Throws `badURL` for a URL without a host, with a port that is none, or with a space, a control character or
    /// something beyond ASCII where the request line would have it; `unsupportedURL` for another scheme.
    package init(_ url: String) throws(TransferFailure) {
        let bytes = url.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            throw .badMessage("the URL has no host")
        }
        switch url[..<colon].lowercased() {
        case "http": isSecure = false
        case "https": isSecure = true
        case let scheme:
            throw .exchange(.unsupportedURL, detail: "the scheme “\(scheme)” is not http or https", engineCode: 0)
        }
        let start = bytes.index(colon, offsetBy: 3)
        let end = bytes[start...].firstIndex { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 } ?? bytes.endIndex
        let userinfo = bytes[start..<end].lastIndex(of: UInt8(ascii: "@"))
        let hostAndPort = url[(userinfo.map { bytes.index(after: $0) } ?? start)..<end]
        (host, port) = try Self.hostAndPort(hostAndPort, default: isSecure ? 443 : 80)
        originForm = try Self.originForm(url[end...])
    }

    private static func originForm(_ rest: Substring) throws(TransferFailure) -> String {
        let target = rest.utf8.prefix { $0 != UInt8(ascii: "#") }
        guard target.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw .badMessage("the URL's path or query has a space, a control character, or one beyond ASCII")
        }
        let text = String(Substring(target))
        return target.first == UInt8(ascii: "/") ? text : "/" + text
    }

    private static func hostAndPort(_ text: Substring, default port: Int) throws(TransferFailure) -> (String, Int) {
        let isBracketed = text.utf8.first == UInt8(ascii: "[")
        let hostEnd: Substring.Index
        if isBracketed {
            guard let bracket = text.utf8.firstIndex(of: UInt8(ascii: "]")) else {
                throw .badMessage("the URL has an IPv6 address without its end")
            }
            hostEnd = text.utf8.index(after: bracket)
        } else {
            hostEnd = text.utf8.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex
        }
        let digits = text[hostEnd...].utf8.dropFirst()
        guard hostEnd == text.endIndex || text.utf8[hostEnd] == UInt8(ascii: ":"), digits.count <= 6,
            digits.allSatisfy({ 0x30...0x39 ~= $0 })
        else { throw .badMessage("the URL has a port that is none") }
        let given = digits.isEmpty ? port : digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        guard given <= 65535 else { throw .badMessage("the URL has a port that is none") }
        return (try isBracketed ? address(text[..<hostEnd]) : name(text[..<hostEnd]), given)
    }

    private static func address(_ bracketed: Substring) throws(TransferFailure) -> String {
        let inside = bracketed.dropFirst().dropLast()
        // A zone means something on this machine alone (RFC 6874 §4).
        let zone = inside.utf8.firstIndex(of: UInt8(ascii: "%")) ?? inside.endIndex
        guard let address = IPAddress(String(inside[..<zone])), address.bytes.count == 16 else {
            throw .badMessage("the URL has no IPv6 address in its brackets")
        }
        return "[\(address)]"
    }

    /// A name as it is written, where it has nothing but letters, digits, hyphens, underscores and dots.
    private static func name(_ text: Substring) throws(TransferFailure) -> String {
        guard !text.isEmpty else { throw .badMessage("the URL has no host") }
        let isPlain = text.utf8.allSatisfy { isHostByte($0) }
        if isPlain, text.utf8.first.map({ 0x30...0x39 ~= $0 }) == false { return String(text) }
        // Numbers that are an address in another spelling, escapes, and names beyond ASCII.
        let canonical = CanonicalHost.text(of: text.removingPercentEncoding ?? "")
        guard !canonical.isEmpty, canonical.utf8.allSatisfy({ isHostByte($0) || "!$&'()*+,;=~".utf8.contains($0) })
        else {
            throw .badMessage("the URL's host has a character that no host has")
        }
        return text.utf8.last == UInt8(ascii: ".") && canonical.utf8.last != UInt8(ascii: ".")
            ? canonical + "." : canonical
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == 0x2D || byte == 0x2E || byte == 0x5F
    }
}
