// The cookies of a storage by their domains.

import FireweedTransport
import Foundation
import FoundationNetworking

/// Finds the cookies of a host without a search through all cookies, and decides which changes new cookies make; pure.
struct CookieIndex {
    /// A change of the storage; the order of changes matters.
    enum Change {
        case set(HTTPCookie)
        case delete(HTTPCookie)
    }

    /// The most cookies of one domain, of one response, and in total (RFC 6265 §6.1: at least 50 for a domain, and
    /// 3,000).
    static let maximumCountOfDomain = 180
    static let maximumCount = 3_000

    /// The cookies by the domain of their identity; each list is in the order in which its cookies are sent.
    private var byDomain: [String: [IndexedCookie]] = [:]
    private var known: [ObjectIdentifier: IndexedCookie] = [:]

    var isEmpty: Bool { known.isEmpty }

    /// Whether the index has this cookie object; false for a cookie that was replaced.
    func contains(_ cookie: HTTPCookie) -> Bool { known[ObjectIdentifier(cookie)] != nil }

    /// Whether the index has a cookie that is the same for Foundation's storage, which compares domains with their
    /// leading dot.
    func containsOne(like cookie: HTTPCookie) -> Bool {
        let identity = CookieIdentity(cookie)
        return byDomain[identity.domain]?.contains { $0.identity == identity && $0.cookie.domain == cookie.domain }
            ?? false
    }

    // MARK: The cookies of the storage

    /// Replaces the content of the index with the storage's cookies; false when nothing has changed.
    mutating func replaceAll(with cookies: [HTTPCookie]) -> Bool {
        if cookies.count == known.count, cookies.allSatisfy(contains) { return false }
        let before = known
        self = CookieIndex()
        for cookie in cookies { insert(before[ObjectIdentifier(cookie)] ?? IndexedCookie(cookie)) }
        for domain in byDomain.keys { byDomain[domain]?.sort(by: IndexedCookie.isSent) }
        return true
    }

    private mutating func insert(_ entry: IndexedCookie) {
        known[ObjectIdentifier(entry.cookie)] = entry
        byDomain[entry.identity.domain, default: []].append(entry)
    }

    private mutating func remove(_ entry: IndexedCookie) {
        let domain = entry.identity.domain
        known[ObjectIdentifier(entry.cookie)] = nil
        byDomain[domain]?.removeAll { $0 === entry }
        if byDomain[domain]?.isEmpty == true { byDomain[domain] = nil }
    }

    // MARK: Sending (§5.4)

    /// The cookies for a host and a path, in the order in which they are sent; `host` is a
    /// `CanonicalHost.identity(of:)`.
    func cookies(forHost host: String, path: String, isSecure: Bool, now: Date) -> [IndexedCookie] {
        var found: [IndexedCookie] = []
        // For an IP address this is the address alone, which has no parent domain (§5.1.3).
        for domain in CanonicalHost.domains(of: host) {
            for entry in byDomain[String(domain)] ?? []
            where (!entry.isHostOnly || domain.utf8.count == host.utf8.count) && (isSecure || !entry.isSecure)
                && !entry.isExpired(at: now) && CookieRules.pathMatches(path, entry.identity.path)
            {
                found.append(entry)
            }
        }
        return found.sorted(by: IndexedCookie.isSent)
    }

    // MARK: Keeping (§5.3)

    /// Adds the cookies of one response, in its order, and returns the changes that the storage needs.
    mutating func add(_ cookies: [HTTPCookie], isSecure: Bool, now: Date) -> [Change] {
        // Of several cookies with one identity, the last one counts. Of too many cookies, the last are kept, since
        // eviction would remove the earlier cookies first.
        var seen: Set<CookieIdentity> = []
        let latest = cookies.reversed().filter { seen.insert(CookieIdentity($0)).inserted }
        let secure = isSecure ? [:] : Dictionary(grouping: known.values.filter(\.isSecure), by: \.identity.name)
        var (added, removed): ([IndexedCookie], [HTTPCookie]) = ([], [])
        for cookie in latest.prefix(Self.maximumCountOfDomain).reversed() {
            if secure[cookie.name]?.contains(where: { CookieRules.overlays(cookie, $0.cookie) }) == true { continue }
            let identity = CookieIdentity(cookie)
            let replaced = (byDomain[identity.domain] ?? []).filter { $0.identity == identity }
            let entry = IndexedCookie(cookie, replacing: replaced.first)
            if replaced.count == 1, !entry.isExpired(at: now), entry.says(theSameAs: replaced[0]) { continue }
            for old in replaced {
                remove(old)
                // Foundation keeps a host-only cookie and another cookie of one domain side by side; here one replaces
                // the other. A cookie that Foundation itself replaces is not deleted first, so that the storage always
                // has one of the two.
                if entry.isExpired(at: now) || old.cookie.domain != cookie.domain { removed.append(old.cookie) }
            }
            if entry.isExpired(at: now) { continue }
            insert(entry)
            added.append(entry)
        }
        for domain in Set(added.map(\.identity.domain)) {
            byDomain[domain]?.sort(by: IndexedCookie.isSent)
            removed += evict(from: byDomain[domain] ?? [], keeping: Self.maximumCountOfDomain, now: now)
        }
        if known.count > Self.maximumCount {
            removed += evict(from: Array(known.values), keeping: Self.maximumCount, now: now)
        }
        // A cookie that was added and evicted in this call is never set.
        let kept = added.filter { known[ObjectIdentifier($0.cookie)] != nil }
        let dropped = Set(added.map { ObjectIdentifier($0.cookie) })
        return kept.map { .set($0.cookie) }
            + removed.filter { !dropped.contains(ObjectIdentifier($0)) }.map(Change.delete)
    }

    /// Evicts cookies beyond the limit: first expired cookies, then the oldest (§5.3, at its end).
    private mutating func evict(from pool: [IndexedCookie], keeping limit: Int, now: Date) -> [HTTPCookie] {
        guard pool.count > limit else { return [] }
        let keyed = pool.map { (entry: $0, age: $0.isExpired(at: now) ? 0 : $0.made) }
        let oldest =
            pool.count == limit + 1
            ? keyed.min { $0.age < $1.age }.map { [$0.entry] } ?? []
            : keyed.sorted { $0.age < $1.age }.prefix(pool.count - limit).map(\.entry)
        for entry in oldest { remove(entry) }
        return oldest.map(\.cookie)
    }
}
