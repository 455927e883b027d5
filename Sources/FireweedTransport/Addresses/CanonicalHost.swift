// The canonical form of hosts, for comparison.

import Foundation

/// The form of a host that all rules compare: trust, identities, addresses and HSTS.
///
/// A host has many spellings, and a URL could evade a rule that matches only one of them. The canonical form is only
/// for comparison: messages and handshakes contain the host of the URL.
///
/// Origins, credentials, cookies and stored responses must not reach another machine: they are compared by
/// `identity(of:)`, where `name.` and `name` differ.
package enum CanonicalHost {
    /// The canonical form of a host, with or without the brackets of an IPv6 address.
    ///
    /// - An IPv6 address as `inet_ntop(3)` writes it (RFC 5952), without brackets, with its zone (RFC 6874).
    /// - An IPv4 address in dotted decimal, from every spelling that `inet_aton(3)` takes (`127.1`, `0x7f000001`).
    /// - A name in lower case, with A-labels for labels outside ASCII (RFC 5890 §2.3.2.1, by the conversion that `URL`
    ///   makes), and without the dot that ends a full name (RFC 1034 §3.1).
    ///
    /// A text that cannot be a host, and so is in no URL, is returned with its ASCII letters in lower case.
    /// The canonical form of a canonical form is the same.
    package static func text(of host: String) -> String {
        var host = host
        return host.withUTF8 { isCanonical(UnsafeRawBufferPointer($0)) } ? host : normalised(host)
    }

    /// Whether a canonical host is an address.
    package static func isAddress(_ canonical: String) -> Bool {
        canonical.utf8.contains(UInt8(ascii: ":")) || IPAddress(canonical) != nil
    }

    /// Whether a host is a complete name, which ends in a dot (RFC 1034 §3.1); `canonical` is its canonical form.
    package static func isCompleteName(_ host: String, canonical: String) -> Bool {
        host.utf8.last == UInt8(ascii: ".") && canonical.utf8.last != UInt8(ascii: ".") && !isAddress(canonical)
    }

    /// The form of a host for look-ups and for secrets: the canonical form, with the final dot of a complete name.
    ///
    /// A resolver searches the domains of resolv.conf(5) for a name without the dot, so the name and the complete name
    /// may belong to different machines.
    package static func identity(of host: String) -> String {
        let canonical = text(of: host)
        return isCompleteName(host, canonical: canonical) ? canonical + "." : canonical
    }

    /// A canonical host without the zone of an IPv6 address (RFC 6874), which only this machine understands.
    package static func withoutZone(_ canonical: String) -> String {
        guard canonical.utf8.contains(UInt8(ascii: ":")), let zone = canonical.firstIndex(of: "%") else {
            return canonical
        }
        return String(canonical[..<zone])
    }

    /// The most octets of a name with its final dot (RFC 1035 §2.3.4).
    private static let maximumNameByteCount = 254

    /// A canonical host or identity, then its parent domains, nearest first; an address has no parent domain.
    ///
    /// A host that is too long for a name gets no parent domains either: a redirect may name a host with 100,000
    /// labels.
    package static func domains(of canonical: String) -> some Sequence<Substring> {
        let isName = canonical.utf8.count <= maximumNameByteCount && !isAddress(canonical)
        return sequence(first: canonical[...]) { domain in
            guard isName, let dot = domain.utf8.firstIndex(of: UInt8(ascii: ".")) else { return nil }
            return domain[domain.utf8.index(after: dot)...]
        }
    }

    /// Returns the rule for a host from rules by host; of several spellings, the canonical spelling takes precedence,
    /// then the first in sort order.
    package static func rule<Rule>(for host: String, in rules: [String: Rule]) -> Rule? {
        guard !rules.isEmpty else { return nil }
        let host = text(of: host)
        if let rule = rules[host] { return rule }
        return rules.filter { text(of: $0.key) == host }.min { $0.key < $1.key }?.value
    }

    /// Whether a host in UTF-8 is surely canonical, as most are; false for some canonical hosts, such as IPv6
    /// addresses.
    package static func isCanonical(_ host: UnsafeRawBufferPointer) -> Bool {
        var isLabelStart = true
        var lastLabelIsName = false
        for byte in host {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"):
                if isLabelStart { lastLabelIsName = true }
                isLabelStart = false
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                if isLabelStart { lastLabelIsName = false }
                isLabelStart = false
            case UInt8(ascii: "."): isLabelStart = true
            default: return false
            }
        }
        // A final dot is not canonical, and a last label that begins with a digit may belong to an IPv4 address.
        return !isLabelStart && (lastLabelIsName || isDottedDecimal(host))
    }

    /// Whether the text is four numbers up to 255 without leading zeros.
    private static func isDottedDecimal(_ host: UnsafeRawBufferPointer) -> Bool {
        var (dotCount, number, digitCount) = (0, 0, 0)
        for byte in host {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                guard digitCount == 0 || number != 0 else { return false }
                digitCount += 1
                number = number * 10 + Int(byte - UInt8(ascii: "0"))
                guard number <= 255 else { return false }
            case UInt8(ascii: "."):
                guard digitCount > 0 else { return false }
                (dotCount, number, digitCount) = (dotCount + 1, 0, 0)
            default: return false
            }
        }
        return dotCount == 3 && digitCount > 0
    }

    private static func normalised(_ host: String) -> String {
        if host.utf8.contains(UInt8(ascii: ":")) { return ipv6Address(host) ?? lowercased(host) }
        guard let name = host.utf8.allSatisfy({ $0 < 0x80 }) ? host : aLabels(of: host) else { return lowercased(host) }
        let bare = withoutFinalDot(lowercased(name))
        return ipv4Address(bare) ?? bare
    }

    /// The name with A-labels, as `URL` converts it; `nil` if no URL can contain the name.
    private static func aLabels(of host: String) -> String? {
        let isName = host.unicodeScalars.allSatisfy { $0.value > 0x20 && !"/?#@[]\\%".unicodeScalars.contains($0) }
        guard isName, let converted = URL(string: "https://\(host)/")?.host else { return nil }
        return converted.utf8.allSatisfy { $0 < 0x80 } ? converted : nil
    }

    /// Changes ASCII letters only, so that the canonical form of a canonical form is the same.
    private static func lowercased(_ host: String) -> String {
        String(decoding: host.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// Removes a final dot, but none of several, since no host has several: the form without one of them would not be
    /// canonical.
    private static func withoutFinalDot(_ name: String) -> String {
        let rest = name.utf8.dropLast()
        guard name.utf8.last == UInt8(ascii: "."), rest.last != UInt8(ascii: ".") else { return name }
        return String(decoding: rest, as: UTF8.self)
    }

    private static func ipv6Address(_ host: String) -> String? {
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let bare = isBracketed ? host.dropFirst().dropLast() : host[...]
        let halves = bare.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = halves.first, let address = IPAddress(String(first)) else { return nil }
        guard halves.count == 2 else { return address.description }
        // In brackets, the percent sign before a zone is escaped as `%25` (RFC 6874 §2).
        let zone = isBracketed && halves[1].hasPrefix("25") ? halves[1].dropFirst(2) : halves[1]
        return "\(address)%\(zone)"
    }

    /// One to four numbers, decimal, octal (`0…`) or hexadecimal (`0x…`), of which the last one fills the remaining
    /// bytes.
    ///
    /// Browsers and curl read them as `inet_aton(3)` does, and connect to that address.
    private static func ipv4Address(_ name: String) -> String? {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 4 else { return nil }
        var value: UInt64 = 0
        for (index, part) in parts.enumerated() {
            guard let number = number(part) else { return nil }
            let bitCount: UInt64 = index < parts.count - 1 ? 8 : 8 * UInt64(5 - parts.count)
            guard number < 1 << bitCount else { return nil }
            value = value << bitCount | number
        }
        return IPAddress(bytes: [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }).description
    }

    private static func number(_ text: Substring) -> UInt64? {
        guard text.utf8.first.map({ (0x30...0x39).contains($0) }) == true else { return nil }
        guard text.utf8.count > 1, text.hasPrefix("0") else { return UInt64(text) }
        let isHexadecimal = text.utf8.dropFirst().first == UInt8(ascii: "x")
        let digits = text.dropFirst(isHexadecimal ? 2 : 1)
        // `UInt64` would accept a sign.
        guard digits.utf8.first != UInt8(ascii: "+") else { return nil }
        return UInt64(digits, radix: isHexadecimal ? 16 : 8)
    }
}
