// The hosts to reach without a proxy.

import Foundation

/// The list of hosts in `no_proxy`, parsed as in curl 7.88.
///
/// Entries are separated by commas, spaces or tabs. A name matches itself and its subdomains; case, a leading dot and a
/// final dot are ignored. An address matches itself, or its network if a slash and a number of bits follow. `*` matches
/// every host if it is the whole list; among other entries it matches nothing. An entry with a port matches nothing.
struct ProxyBypass {
    private let isEverything: Bool
    private let entries: [String]

    /// Parses a list.
    init(_ list: String) {
        isEverything = list == "*"
        entries = list.unicodeScalars.split { $0 == "," || $0 == " " || $0 == "\t" }.map { Self.inALabels(String($0)) }
    }

    /// Converts a name to A-labels, the form in which hosts are compared.
    private static func inALabels(_ entry: String) -> String {
        guard !entry.utf8.allSatisfy({ $0 < 0x80 }) else { return entry }
        return entry.hasPrefix(".")
            ? "." + CanonicalHost.text(of: String(entry.dropFirst())) : CanonicalHost.text(of: entry)
    }

    /// Whether the list contains a host: a name in A-labels, or an address with or without brackets.
    func contains(_ host: String) -> Bool {
        guard !host.isEmpty else { return false }
        if isEverything { return true }
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        guard let address = IPAddress(bare) else {
            let name = Self.withoutFinalDot(bare[...])
            return entries.contains { Self.matches(name, entry: $0) }
        }
        return entries.contains { Self.matches(address, entry: $0) }
    }

    private static func matches(_ name: Substring, entry: String) -> Bool {
        var entry = withoutFinalDot(entry[...])
        if entry.utf8.first == UInt8(ascii: ".") { entry = entry.dropFirst() }
        guard !entry.isEmpty, name.utf8.count >= entry.utf8.count else { return false }
        let tail = name.utf8.suffix(entry.utf8.count)
        guard String(Substring(tail)).isEqualIgnoringASCIICase(String(entry)) else { return false }
        return tail.startIndex == name.startIndex || name.utf8[name.utf8.index(before: tail.startIndex)] == 0x2E
    }

    /// Whether an entry matches an address; the number of bits is read as in curl, with atoi(3), and 0 means a single
    /// address.
    ///
    /// curl 7.88 does not match IPv6 networks, because of a bug; this method does.
    private static func matches(_ address: IPAddress, entry: String) -> Bool {
        let parts = entry.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let base = parts.first.flatMap({ IPAddress(String($0)) }) else { return false }
        let digits = parts.count == 2 ? parts[1].utf8.prefix { 0x30...0x39 ~= $0 } : "".utf8.prefix(0)
        guard let bits = digits.isEmpty ? 0 : Int(Substring(digits)), bits <= base.bytes.count * 8 else { return false }
        return bits == 0 ? address == base : IPNetwork("\(base)/\(bits)")?.contains(address) == true
    }

    private static func withoutFinalDot(_ name: Substring) -> Substring {
        name.utf8.last == UInt8(ascii: ".") ? name.dropLast() : name
    }
}
