// Hosts that are reached without a proxy.

import Foundation

/// A list of hosts as `no_proxy` has it, read as curl 7.88 reads it.
///
/// Entries are separated by commas or blanks. A name stands for itself and for the names below it, with or without a
/// dot in front; a dot at the end of either does not count, nor does case. An IPv4 address stands for itself, and with
/// a number of bits behind a slash for its network. `*` alone stands for every host, and among other entries for none.
/// An entry with a port matches nothing.
struct ProxyBypass {
    private let isEverything: Bool
    private let entries: [String]

    /// Reads a list.
    init(_ list: String) {
        isEverything = list == "*"
        entries = list.unicodeScalars.split { $0 == "," || $0 == " " || $0 == "\t" }.map { Self.inALabels(String($0)) }
    }

    /// Hosts are compared in A-labels, which the list need not have.
    private static func inALabels(_ entry: String) -> String {
        guard !entry.utf8.allSatisfy({ $0 < 0x80 }) else { return entry }
        return entry.hasPrefix(".")
            ? "." + CanonicalHost.text(of: String(entry.dropFirst())) : CanonicalHost.text(of: entry)
    }

    /// Whether a host is in the list: a name in A-labels, or an address with or without brackets.
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

    /// curl reads the number of bits as atoi(3) does, and takes 0 for the address alone.
    ///
    /// curl 7.88 means to compare IPv6 networks too, and fails to; here they are compared.
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
