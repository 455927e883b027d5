// The parsed URL of a request message.

import Foundation

/// The parts of a message's URL that HTTP/1.1 needs (RFC 9112 §3.2), parsed from its bytes.
///
/// The layer above has checked the URL's syntax. This type refuses every byte that could end the request line or inject
/// another line.
package struct RequestTarget: Equatable, Sendable {
    /// True for `https`.
    package let isSecure: Bool
    /// The host as sent in `Host`: a name in A-labels, an IPv4 address, or an IPv6 address in brackets without its
    /// zone.
    package let host: String
    /// The host in canonical form, for comparison: without brackets; an IPv6 address keeps its zone.
    package let canonicalHost: String
    /// Whether the host is a name with a final dot; `canonicalHost` does not have that dot.
    package var isCompleteName: Bool { CanonicalHost.isCompleteName(host, canonical: canonicalHost) }
    /// The port of the URL, or the default port of its scheme.
    package let port: Int
    /// The origin form (RFC 9112 §3.2.1): path and query as written, with a `/` in front if the path is empty.
    package let originForm: String

    /// Whether another target has the same `authority`.
    func hasAuthority(of other: RequestTarget) -> Bool {
        port == other.port && isSecure == other.isSecure && host == other.host
    }

    /// The host, and the port unless it is the scheme's default port (RFC 9110 §7.2).
    package var authority: String { port == (isSecure ? 443 : 80) ? host : "\(host):\(port)" }
    /// The authority form with its port, for CONNECT (RFC 9112 §3.2.3).
    package var authorityForm: String { "\(host):\(port)" }
    /// The origin with its port (RFC 9110 §4.3.1), for messages to people and as a key.
    package var origin: String {
        let host = canonicalHost.contains(":") ? "[\(canonicalHost)]" : canonicalHost
        return "\(isSecure ? "https" : "http")://\(host):\(port)"
    }
    /// The absolute form without userinfo and fragment, for proxies (RFC 9112 §3.2.2).
    package var absoluteForm: String { "\(isSecure ? "https" : "http")://\(authority)\(originForm)" }

    /// Reads an absolute `http` or `https` URL.
    ///
    /// Throws `badURL` for a URL without a host, with an invalid host or port, or with a space, a control character or
    /// a non-ASCII character in its path or query; `unsupportedURL` for another scheme.
    package init(_ url: String) throws(TransferFailure) {
        var url = url
        // `withUTF8` gives access to native UTF-8 without a copy, and converts other strings first.
        let parts = url.withUTF8 { (bytes) -> Result<RequestTarget, TransferFailure> in
            do throws(TransferFailure) {
                return .success(try RequestTarget(UnsafeRawBufferPointer(bytes)))
            } catch {
                return .failure(error)
            }
        }
        self = try parts.get()
    }

    private init(_ bytes: UnsafeRawBufferPointer) throws(TransferFailure) {
        guard let colon = bytes.firstIndex(of: 0x3A), bytes.count >= colon + 3, bytes[colon + 1] == 0x2F,
            bytes[colon + 2] == 0x2F
        else { throw .badMessage("the URL has no host") }
        let scheme = UnsafeRawBufferPointer(rebasing: bytes[..<colon])
        if colon == 4, scheme.isFieldName("http") {
            isSecure = false
        } else if colon == 5, scheme.isFieldName("https") {
            isSecure = true
        } else {
            let name = FieldBytes.excerpt(bytes, from: 0, to: colon)
            throw .exchange(.unsupportedURL, detail: "the scheme “\(name)” is not http or https", engineCode: 0)
        }
        // The authority ends at `/`, `?` or `#`, and begins after the userinfo.
        var (start, end) = (colon + 3, colon + 3)
        while end < bytes.count, bytes[end] != 0x2F, bytes[end] != 0x3F, bytes[end] != 0x23 {
            if bytes[end] == 0x40 { start = end + 1 }
            end += 1
        }
        originForm = try Self.originForm(UnsafeRawBufferPointer(rebasing: bytes[end...]))
        (host, canonicalHost, port) = try Self.hostAndPort(
            UnsafeRawBufferPointer(rebasing: bytes[start..<end]), default: isSecure ? 443 : 80)
    }

    /// Returns the path and query, without the fragment; adds a slash in front if the path is empty.
    private static func originForm(_ bytes: UnsafeRawBufferPointer) throws(TransferFailure) -> String {
        var end = 0
        while end < bytes.count, bytes[end] != 0x23 {
            guard bytes[end] &- 0x21 < 0x5E else {
                throw .badMessage("the URL's path or query has a space, a control character, or one beyond ASCII")
            }
            end += 1
        }
        let text = String(decoding: bytes[..<end], as: UTF8.self)
        return bytes.first == 0x2F ? text : "/" + text
    }

    private static func hostAndPort(
        _ bytes: UnsafeRawBufferPointer, default port: Int
    ) throws(TransferFailure) -> (host: String, canonicalHost: String, port: Int) {
        var hostEnd = 0
        if bytes.first == 0x5B {
            while hostEnd < bytes.count, bytes[hostEnd] != 0x5D { hostEnd += 1 }
            guard hostEnd < bytes.count else { throw .badMessage("the URL has an IPv6 address without its end") }
            hostEnd += 1
        } else {
            while hostEnd < bytes.count, bytes[hostEnd] != 0x3A { hostEnd += 1 }
        }
        let name = UnsafeRawBufferPointer(rebasing: bytes[..<hostEnd])
        let host = String(decoding: name, as: UTF8.self)
        var given = 0
        for index in min(hostEnd + 1, bytes.count)..<bytes.count {
            given = given * 10 + Int(bytes[index] &- 0x30)
            guard bytes[index] &- 0x30 < 10, given <= 65535 else {
                throw .badMessage("the URL has an invalid port")
            }
        }
        guard hostEnd == bytes.count || bytes[hostEnd] == 0x3A else {
            throw .badMessage("the URL has an invalid port")
        }
        if hostEnd + 1 >= bytes.count { given = port }
        // Most hosts are canonical already: then nothing more is parsed.
        if CanonicalHost.isCanonical(name) { return (host, host, given) }
        if bytes.first == 0x5B {
            let (address, zone) = try address(host[...])
            // A zone has a meaning on this machine only (RFC 6874 §3), so it is not sent to the peer.
            return ("[\(address)]", zone.map { "\(address)%\($0)" } ?? address.description, given)
        }
        let sent = try self.name(host[...])
        return (sent, CanonicalHost.text(of: sent), given)
    }

    /// Parses an IPv6 address in brackets, and its zone, which follows `%25` (RFC 6874 §2) or a plain `%`.
    private static func address(_ bracketed: Substring) throws(TransferFailure) -> (IPAddress, zone: String?) {
        let inside = bracketed.dropFirst().dropLast()
        let halves = inside.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = halves.first, let address = IPAddress(String(first)), address.bytes.count == 16 else {
            throw .badMessage("the URL has no IPv6 address in its brackets")
        }
        guard halves.count == 2 else { return (address, nil) }
        let escaped = halves[1].hasPrefix("25") ? halves[1].dropFirst(2) : halves[1]
        guard let zone = escaped.removingPercentEncoding, !zone.isEmpty,
            zone.utf8.allSatisfy({ isHostByte($0) || $0 == UInt8(ascii: "~") })
        else { throw .badMessage("the URL has an IPv6 address with an invalid zone") }
        return (address, zone)
    }

    /// Returns a name unchanged if it has only letters, digits, hyphens, underscores and dots and does not begin with a
    /// digit; otherwise its canonical form, with a final dot if it had one.
    private static func name(_ text: Substring) throws(TransferFailure) -> String {
        guard !text.isEmpty else { throw .badMessage("the URL has no host") }
        let isPlain = text.utf8.allSatisfy { isHostByte($0) }
        if isPlain, text.utf8.first.map({ 0x30...0x39 ~= $0 }) == false { return String(text) }
        // What remains: IPv4 addresses in any notation, names that begin with a digit, percent-escapes and non-ASCII
        // names.
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
