// Hosts that are to be reached over TLS only.

import Dispatch
import FireweedTransport
public import Foundation
import Synchronization

/// HTTP Strict Transport Security (RFC 6797): remembers which hosts have asked to be reached over TLS only, and makes
/// `http` URLs of theirs `https` before anything is sent.
///
/// A session that is given one reads `Strict-Transport-Security` in responses that came over TLS, of hosts with names,
/// and obeys what it has read, for redirects too. Several sessions may share one. A session uses only the one that it
/// was given.
///
/// ```swift
/// let session = Session(strictTransportSecurity: StrictTransportSecurity(file: storeURL))
/// ```
public final class StrictTransportSecurity: Sendable {
    /// A host that is to be reached over TLS only.
    public struct Host: Sendable, Hashable, Codable {
        /// Its name, in canonical form: in lower case, with A-labels, and without a dot at its end.
        public let name: String
        /// When that ends.
        public let expiry: Date
        /// Whether it holds for the names below as well.
        public let includesSubdomains: Bool

        fileprivate func named(_ name: String) -> Host {
            Host(name: name, expiry: expiry, includesSubdomains: includesSubdomains)
        }
    }

    /// The file in which hosts are kept; `nil` when they are kept in memory alone.
    public let file: URL?
    /// How many hosts are kept at most; those that end first go first.
    public let maximumHostCount: Int

    private let known: Mutex<[String: Host]>
    private let now: @Sendable () -> Date
    private let writing = DispatchQueue(label: "org.fireweed.strict-transport-security")

    /// Makes a store, with what is in the file.
    ///
    /// A file that is not there, or cannot be read, is empty; it is written anew, for this user alone, when something
    /// changes.
    public convenience init(file: URL? = nil, maximumHostCount: Int = 10_000) {
        self.init(file: file, maximumHostCount: maximumHostCount, now: { Date() })
    }

    init(file: URL?, maximumHostCount: Int, now: @escaping @Sendable () -> Date) {
        self.file = file
        self.maximumHostCount = max(1, maximumHostCount)
        self.now = now
        let kept = file.flatMap { try? JSONDecoder().decode([Host].self, from: FileContent.read($0)) } ?? []
        let pairs = kept.compactMap { host in Self.canonical(host.name).map { ($0, host.named($0)) } }
        known = Mutex(Dictionary(pairs) { first, _ in first })
    }

    /// The hosts for which it holds now, in the order of their names.
    public var hosts: [Host] {
        let now = now()
        return known.withLock { $0.values.filter { $0.expiry > now } }.sorted { $0.name < $1.name }
    }

    /// Adds a host by hand, like a preloaded list; an IP address is passed over.
    ///
    /// `lifetime` is in seconds; zero or less removes the host.
    public func add(_ name: String, lifetime: TimeInterval, includesSubdomains: Bool = false) {
        add(name, lifetime: lifetime, includesSubdomains: includesSubdomains, at: now())
    }

    private func add(_ name: String, lifetime: TimeInterval, includesSubdomains: Bool, at now: Date) {
        guard let name = Self.canonical(name) else { return }
        // A year at most is what servers ask for; more must not overflow.
        let expiry = now.addingTimeInterval(min(lifetime, 100 * 365 * 86_400))
        known.withLock { known in
            known[name] = lifetime > 0 ? Host(name: name, expiry: expiry, includesSubdomains: includesSubdomains) : nil
            guard known.count > maximumHostCount else { return }
            known = known.filter { $0.value.expiry > now }
            while known.count > maximumHostCount, let first = known.values.min(by: { $0.expiry < $1.expiry }) {
                known[first.name] = nil
            }
        }
        save()
    }

    /// Forgets every host.
    public func removeAll() {
        known.withLock { $0.removeAll() }
        save()
    }

    /// Whether a host is to be reached over TLS only: itself, or by a name above it that includes it (RFC 6797 §8.2).
    public func applies(to host: String) -> Bool {
        applies(to: host, at: now())
    }

    private func applies(to host: String, at now: Date) -> Bool {
        guard let name = Self.canonical(host) else { return false }
        return known.withLock { known in
            if let own = known[name], own.expiry > now { return true }
            var rest = name[...]
            while let dot = rest.firstIndex(of: ".") {
                rest = rest[rest.index(after: dot)...]
                if let above = known[String(rest)], above.includesSubdomains, above.expiry > now { return true }
            }
            return false
        }
    }

    /// The URL to use in place of this one: `https`, with port 80 made 443 (RFC 6797 §8.3); itself when nothing
    /// holds for it.
    public func secured(_ url: URL) -> URL {
        secured(url, at: now())
    }

    /// The same at a moment of a session's clock.
    func secured(_ url: URL, at now: @autoclosure () -> Date) -> URL {
        guard url.scheme?.lowercased() == "http", let host = url.host, applies(to: host, at: now()),
            var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { return url }
        components.scheme = "https"
        if components.port == 80 { components.port = 443 }
        return components.url ?? url
    }

    /// Takes note of a response that came from a URL; only the first of several fields counts (RFC 6797 §8.1).
    ///
    /// - Parameter now: when it came, by the session's clock.
    func note(_ head: ResponseHead, from url: URL, at now: @autoclosure () -> Date) {
        guard url.scheme?.lowercased() == "https", let host = url.host,
            let text = head.values(of: "Strict-Transport-Security").first, let field = StrictTransportField(text)
        else { return }
        add(host, lifetime: TimeInterval(field.maxAge), includesSubdomains: field.includesSubdomains, at: now())
    }

    private func save() {
        guard let file else { return }
        writing.async { [self] in
            guard let data = try? JSONEncoder().encode(hosts) else { return }
            try? FileInstaller.writePrivately(data, to: file)
        }
    }

    /// Waits until the file has been written.
    func waitUntilSaved() {
        writing.sync {}
    }

    /// A name in canonical form; `nil` for an address, for which none of this holds (RFC 6797 §8.1.1).
    private static func canonical(_ host: String) -> String? {
        let name = CanonicalHost.text(of: host)
        return name.isEmpty || name.hasPrefix("[") || CanonicalHost.isAddress(name) ? nil : name
    }
}
