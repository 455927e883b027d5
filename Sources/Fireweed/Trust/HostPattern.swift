// Patterns of host names.

import FireweedTransport
public import Foundation

/// A host name with a wildcard in front: `*.example.com` for exactly one label, `**.example.com` for one or more.
public struct HostPattern: Sendable, Hashable, CustomStringConvertible {
    /// The error for a text that is not `*.` or `**.` followed by a host name.
    public struct Malformed: Error, Sendable, Equatable, LocalizedError {
        /// The text.
        public let text: String

        /// A sentence that quotes the text.
        public var errorDescription: String? { "\(text.debugDescription) is no pattern of hosts." }
    }

    /// The name after the wildcard, with the dot before it, in canonical form.
    let suffix: String
    private let isDeep: Bool

    /// Reads a pattern; throws `HostPattern.Malformed`.
    ///
    /// Hosts compare by their canonical form: upper and lower case are the same, and so are Unicode names and their
    /// A-labels.
    public init(_ text: String) throws(Malformed) {
        let wildcard = text.prefix { $0 == "*" }
        let name = text.dropFirst(wildcard.count)
        let labels = name.split(separator: ".", omittingEmptySubsequences: false).dropFirst()
        guard 1...2 ~= wildcard.count, name.hasPrefix("."), !labels.isEmpty,
            labels.allSatisfy({ !$0.isEmpty && !$0.contains("*") })
        else { throw Malformed(text: text) }
        suffix = "." + CanonicalHost.text(of: String(name.dropFirst()))
        isDeep = wildcard.count == 2
    }

    /// Whether the pattern covers a host; it does not cover the bare name after the wildcard.
    public func matches(_ host: String) -> Bool {
        let host = CanonicalHost.text(of: host)
        guard host.hasSuffix(suffix) else { return false }
        let front = host.dropLast(suffix.count)
        guard !front.isEmpty, !front.hasPrefix("."), !front.hasSuffix(".") else { return false }
        return isDeep || !front.contains(".")
    }

    /// Whether this pattern takes precedence over another for the same host: the longer name, then `*` over `**`.
    func isMoreSpecific(than other: HostPattern) -> Bool {
        (suffix.count, isDeep ? 0 : 1) > (other.suffix.count, other.isDeep ? 0 : 1)
    }

    /// The pattern, in canonical form.
    public var description: String { (isDeep ? "**" : "*") + suffix }
}
