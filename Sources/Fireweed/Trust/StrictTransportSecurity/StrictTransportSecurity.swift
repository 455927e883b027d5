// Hosts that are to be reached over TLS only.

import Dispatch
import FireweedTransport
public import Foundation
import Synchronization

/// HTTP Strict Transport Security (RFC 6797): remembers which hosts require TLS, and changes their `http` URLs to
/// `https` before anything is sent.
///
/// A session with such a store reads `Strict-Transport-Security` in responses over TLS, except from IP addresses, and
/// applies the policy to later requests and redirects. A server whose certificate was not checked, as with a
/// ``DisabledTrustEvaluator``, sets no policy. Several sessions may share one store, and several processes one file. A
/// session without a store does not apply any policy.
///
/// ```swift
/// let session = Session(options: SessionOptions(strictTransportSecurity: StrictTransportSecurity(file: storeURL)))
/// ```
public final class StrictTransportSecurity: Sendable {
    /// A host that is to be reached over TLS only.
    public struct Host: Sendable, Hashable, Codable {
        /// The name in canonical form: in lower case, with A-labels, and without a dot at its end.
        public let name: String
        /// When the policy ends.
        public let expiry: Date
        /// Whether the policy includes all subdomains.
        public let includesSubdomains: Bool

        /// Whether another policy of this host is so similar that the file need not be written.
        ///
        /// A server repeats its policy with each response, and each repetition moves the end. A difference of a
        /// twentieth of the lifetime, a day at most, is ignored.
        fileprivate func isLike(_ other: Host, lifetime: TimeInterval) -> Bool {
            includesSubdomains == other.includesSubdomains
                && abs(expiry.timeIntervalSince(other.expiry)) <= min(86_400, lifetime / 20)
        }

        fileprivate func named(_ name: String) -> Host {
            Host(name: name, expiry: expiry, includesSubdomains: includesSubdomains)
        }
    }

    /// The file in which hosts are stored; `nil` when they are only in memory.
    public let file: URL?
    /// The most hosts that are stored; hosts whose policy ends first are removed first.
    public let maximumHostCount: Int

    private struct State {
        /// The hosts by their names.
        var known: [String: Host]
        /// The changes of this process since it last wrote the file; `nil` for a host that was removed.
        var changes: [String: Host?] = [:]
        /// The hosts that the file has, or is about to have.
        var saved: [String: Host] = [:]
        /// The number of `removeAll` calls that are not in the file yet; all came before `changes`.
        var emptyingCount = 0
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> Date
    private let writing = DispatchQueue(label: "org.fireweed.strict-transport-security")

    /// Makes a store, with the hosts of a file.
    ///
    /// A file that is missing or cannot be read counts as empty; the first change writes a new file, which only this
    /// user can read. Each write keeps the changes that other processes have made to the file, and this process then
    /// applies these changes too.
    ///
    /// - Parameters:
    ///   - file: where hosts are stored; `nil`, the default, keeps them in memory.
    ///   - maximumHostCount: how many hosts are remembered; 10,000 by default.
    public convenience init(file: URL? = nil, maximumHostCount: Int = 10_000) {
        self.init(file: file, maximumHostCount: maximumHostCount, now: { Date() })
    }

    init(file: URL?, maximumHostCount: Int, now: @escaping @Sendable () -> Date) {
        self.file = file
        self.maximumHostCount = max(1, maximumHostCount)
        self.now = now
        let known = file.flatMap { Self.byName(StrictTransportFile(url: $0).read()) } ?? [:]
        state = Mutex(State(known: known, saved: known))
    }

    private static func byName(_ hosts: [Host]?) -> [String: Host]? {
        let pairs = hosts?.compactMap { host in canonical(host.name).map { ($0, host.named($0)) } }
        return pairs.map { Dictionary($0) { first, _ in first } }
    }

    /// The hosts whose policy has not ended, in the order of their names.
    public var hosts: [Host] {
        let now = now()
        return state.withLock { $0.known.values.filter { $0.expiry > now } }.sorted { $0.name < $1.name }
    }

    /// Adds a host, as a preloaded list does; an IP address is ignored.
    ///
    /// - Parameters:
    ///   - name: the host.
    ///   - lifetime: how long the host is to be reached over TLS only, in seconds; zero or less removes the host.
    ///   - includesSubdomains: whether the same holds for all its subdomains; false by default.
    public func add(_ name: String, lifetime: TimeInterval, includesSubdomains: Bool = false) {
        add(name, lifetime: lifetime, includesSubdomains: includesSubdomains, at: now())
    }

    private func add(_ name: String, lifetime: TimeInterval, includesSubdomains: Bool, at now: Date) {
        guard let name = Self.canonical(name) else { return }
        // Servers ask for a year or two. A hundred years are the limit, so that no date overflows.
        let expiry = now.addingTimeInterval(min(lifetime, 100 * 365 * 86_400))
        let host = lifetime > 0 ? Host(name: name, expiry: expiry, includesSubdomains: includesSubdomains) : nil
        let isMaterial = state.withLock { state in
            state.known[name] = host
            bound(&state.known, at: now)
            guard file != nil else { return false }
            if let host, let saved = state.saved[name], host.isLike(saved, lifetime: lifetime) { return false }
            state.changes[name] = .some(host)
            state.saved[name] = host
            return true
        }
        if isMaterial { save() }
    }

    /// Removes the hosts whose policy ends first, if there are too many.
    private func bound(_ known: inout [String: Host], at now: Date) {
        guard known.count > maximumHostCount else { return }
        known = known.filter { $0.value.expiry > now }
        let excess = known.count - maximumHostCount
        guard excess > 0 else { return }
        // A sixteenth of the limit is removed in addition, so that not every further host causes a sort.
        let first = known.values.sorted { $0.expiry < $1.expiry }.prefix(excess + maximumHostCount / 16)
        for host in first { known[host.name] = nil }
    }

    /// Removes every host.
    public func removeAll() {
        state.withLock { $0 = State(known: [:], emptyingCount: $0.emptyingCount + 1) }
        save()
    }

    /// Whether a host requires TLS: by its own policy, or by the policy of a parent domain that includes subdomains
    /// (RFC 6797 §8.2).
    public func applies(to host: String) -> Bool {
        applies(to: host, at: now())
    }

    private func applies(to host: String, at now: Date) -> Bool {
        guard let name = Self.canonical(host) else { return false }
        return state.withLock { state in
            let known = state.known
            if let own = known[name], own.expiry > now { return true }
            return CanonicalHost.domains(of: name).dropFirst().contains { domain in
                known[String(domain)].map { $0.includesSubdomains && $0.expiry > now } ?? false
            }
        }
    }

    /// Returns the URL to use instead of this one: `https`, with port 80 changed to 443 (RFC 6797 §8.3); without a
    /// policy, the same URL.
    public func secured(_ url: URL) -> URL {
        secured(url, at: now())
    }

    /// Like `secured(_:)`, with the time of a session's clock.
    func secured(_ url: URL, at now: @autoclosure () -> Date) -> URL {
        guard url.scheme?.lowercased() == "http", let host = url.host, applies(to: host, at: now()),
            var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { return url }
        components.scheme = "https"
        if components.port == 80 { components.port = 443 }
        return components.url ?? url
    }

    /// Stores or removes the policy of a host, according to the `Strict-Transport-Security` field of its response.
    ///
    /// Of several fields only the first counts (RFC 6797 §8.1). `now` is the time of the session's clock.
    func note(_ head: ResponseHead, from url: URL, at now: @autoclosure () -> Date) {
        guard url.scheme?.lowercased() == "https", let host = url.host,
            let text = head.values(of: "Strict-Transport-Security").first, let field = StrictTransportField(text)
        else { return }
        add(host, lifetime: TimeInterval(field.maxAge), includesSubdomains: field.includesSubdomains, at: now())
    }

    private func save() {
        guard let file else { return }
        let shared = StrictTransportFile(url: file)
        writing.async { [self] in shared.whileLocked { merge(into: shared) } }
    }

    /// Applies this process's changes to the file's present content, and adopts the changes of other processes.
    private func merge(into file: StrictTransportFile) {
        let now = now()
        let stored = Self.byName(file.read())
        let (hosts, written, emptyingCount) = state.withLock { state in
            // A file that is missing or damaged removes no host.
            var merged = state.emptyingCount > 0 ? [:] : stored ?? state.known
            for (name, host) in state.known where stored?[name] != nil && stored?[name] == state.saved[name] {
                merged[name] = host  // a repeated policy ends later than in the file
            }
            for (name, host) in state.changes { merged[name] = host }
            merged = merged.filter { $0.value.expiry > now }
            bound(&merged, at: now)
            state.known = merged
            state.saved = merged
            return (merged.values.sorted { $0.name < $1.name }, state.changes, state.emptyingCount)
        }
        // After a failed write `saved` is empty: the next change, or the next repetition of a policy, writes again.
        guard Self.byName(hosts) == stored || (try? file.write(hosts)) != nil else {
            return state.withLock { $0.saved = [:] }
        }
        state.withLock { state in
            state.emptyingCount -= emptyingCount
            state.changes = state.changes.filter { name, host in written[name] != .some(host) }
        }
    }

    /// Waits until the file has been written.
    func waitUntilSaved() {
        writing.sync {}
    }

    /// A name in canonical form; `nil` for an address, for which no policy applies (RFC 6797 §8.1.1).
    private static func canonical(_ host: String) -> String? {
        let name = CanonicalHost.text(of: host)
        return name.isEmpty || name.hasPrefix("[") || CanonicalHost.isAddress(name) ? nil : name
    }
}
