// Cookies on their way out and in, through `HTTPCookieStorage`.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// The cookies of a session (RFC 6265 §5).
///
/// They are in Foundation's storage, as configured, where users see and set them. Which of them are kept and which go where is decided
/// by `CookieRules` and here.
final class CookieJar: @unchecked Sendable {
    // SAFETY: the storage synchronises itself; the moments are behind a `Mutex`.
    private let storage: HTTPCookieStorage?
    /// When cookies were made that have been replaced since: a replacement keeps its place in the order (§5.3, step 11.3).
    private let firstMade = Mutex<[CookieIdentity: TimeInterval]>([:])

    /// As many cookies as are kept for one domain, and in all (§6.1 asks for 50 and 3,000 at least).
    private static let maximumCountOfDomain = 180
    private static let maximumCount = 3_000

    init(storage: HTTPCookieStorage?) {
        self.storage = storage
    }

    // MARK: Out

    /// The hop's fields, with a `Cookie` field when there are cookies for it and it has none of its own.
    func addingCookies(
        for hop: Hop, settings: SessionSettings, isWanted: @autoclosure () -> Bool = true
    ) -> FieldBlock {
        guard settings.setsCookies, let cookies = storage?.cookies, !cookies.isEmpty, !hop.fields.contains("Cookie"),
            isWanted(), let value = value(of: cookies, for: hop.url)
        else { return hop.fields }
        return FieldBlock(hop.fields.fields + [Field(name: "Cookie", value: value)])
    }

    private func value(of cookies: [HTTPCookie], for url: URL) -> String? {
        guard let host = url.host.map(CanonicalHost.text) else { return nil }
        let (path, now) = (CookieRules.requestPath(of: url), Date())
        let sent = cookies.filter { CookieRules.applies($0, to: url, host: host, path: path, now: now) }
        guard !sent.isEmpty else { return nil }
        let value = ordered(sent).map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
        return FieldSyntax.isValue(value) ? value : nil
    }

    /// Longer paths first, and of equally long ones the older cookie (§5.4, step 2).
    private func ordered(_ cookies: [HTTPCookie]) -> [HTTPCookie] {
        guard cookies.count > 1 else { return cookies }
        let keyed = cookies.map { (cookie: $0, length: $0.path.utf8.count, made: made($0)) }
        return keyed.sorted { ($1.length, $0.made, $0.cookie.name) < ($0.length, $1.made, $1.cookie.name) }
            .map(\.cookie)
    }

    private func made(_ cookie: HTTPCookie) -> TimeInterval {
        firstMade.withLock { $0[CookieIdentity(cookie)] } ?? cookie.made
    }

    // MARK: In

    /// Stores what a response sets, as the accept policies of session and storage allow.
    func store(_ head: ResponseHead, for url: URL, settings: SessionSettings, of record: RequestRecord) {
        guard let storage, let host = url.host, record.existing?.httpShouldHandleCookies ?? true else { return }
        let mainDocument = record.existing?.mainDocumentURL
        for policy in [settings.cookieAcceptPolicy, storage.cookieAcceptPolicy]
        where !CookieRules.allows(policy, host: host, mainDocument: mainDocument) { return }
        for line in head.values(of: "Set-Cookie") {
            let now = Date()
            guard let cookie = CookieRules.accepted(line, from: url, now: now) else { continue }
            let present = storage.cookies ?? []
            if url.scheme?.lowercased() != "https", present.contains(where: { CookieRules.overlays(cookie, $0) }) {
                continue
            }
            store(cookie, beside: present, in: storage, now: now)
        }
    }

    private func store(_ cookie: HTTPCookie, beside present: [HTTPCookie], in storage: HTTPCookieStorage, now: Date) {
        let identity = CookieIdentity(cookie)
        let replaced = present.filter { CookieIdentity($0) == identity }
        let isExpired = cookie.expiresDate.map { $0 <= now } ?? false
        firstMade.withLock { firstMade in
            let first = replaced.first.map { firstMade[identity] ?? $0.made }
            firstMade[identity] = isExpired ? nil : first
        }
        if !isExpired { storage.setCookie(cookie) }
        // Foundation tells host-only cookies and others of one domain apart; here one replaces the other. What it replaced itself is
        // not deleted: there must be no moment without the cookie.
        for old in replaced where isExpired || old.domain != cookie.domain { storage.deleteCookie(old) }
        guard !isExpired else { return }
        if replaced.isEmpty { evict(beside: identity, in: storage, now: now) }
    }

    /// Makes room when there are too many cookies: the expired go first, then the oldest (§5.3, at its end).
    private func evict(beside identity: CookieIdentity, in storage: HTTPCookieStorage, now: Date) {
        let cookies = storage.cookies ?? []
        let ofDomain = cookies.filter { CookieIdentity($0).domain == identity.domain }
        let excess = max(ofDomain.count - Self.maximumCountOfDomain, 0)
        let total = max(cookies.count - Self.maximumCount, 0)
        guard excess > 0 || total > 0 else { return }
        let pool = excess > 0 ? ofDomain : cookies
        let oldestFirst = pool.sorted { ($0.ends(before: now) ? 0 : made($0)) < ($1.ends(before: now) ? 0 : made($1)) }
        for cookie in oldestFirst.prefix(max(excess, total)) {
            storage.deleteCookie(cookie)
            firstMade.withLock { $0[CookieIdentity(cookie)] = nil }
        }
    }
}

/// What tells cookies apart (RFC 6265 §5.3, step 11): name, domain and path.
private struct CookieIdentity: Hashable {
    let name: String
    let domain: String
    let path: String

    init(_ cookie: HTTPCookie) {
        name = cookie.name
        domain = CanonicalHost.text(of: String(cookie.domain.drop { $0 == "." }))
        path = cookie.path
    }
}

extension HTTPCookie {
    /// When the object was made, which is when the cookie came; in seconds of Foundation's reference date.
    fileprivate var made: TimeInterval {
        properties?[HTTPCookiePropertyKey("Created")] as? TimeInterval ?? 0
    }

    fileprivate func ends(before now: Date) -> Bool {
        expiresDate.map { $0 <= now } ?? false
    }
}
