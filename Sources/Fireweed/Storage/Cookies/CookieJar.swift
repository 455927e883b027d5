// Sending and storing of a session's cookies.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking

/// The cookies of a session (RFC 6265 §5).
///
/// The cookies are in the configured Foundation storage, where users can read and set them. `CookieRules` and
/// `CookieIndex` decide which cookies are stored and which are sent; the sessions of one storage share a `CookieStore`.
final class CookieJar: Sendable {
    private let store: CookieStore?
    private let clock: any SessionClock

    init(storage: HTTPCookieStorage?, clock: any SessionClock = SystemClock()) {
        self.clock = clock
        store = storage.map(CookieStore.of)
    }

    /// The fields with a `Cookie` field, when there are cookies for the URL and the fields have no `Cookie` field of
    /// their own.
    ///
    /// With `keepsOwn`, an own `Cookie` field is sent after the cookies instead of alone.
    ///
    /// `isWanted` is whether the request wants cookies; it is evaluated only when cookies for the URL exist.
    func addingCookies(
        to fields: FieldBlock, for url: URL, urlText: String, settings: SessionSettings,
        keepsOwn: Bool = false, isWanted: @autoclosure () -> Bool = true
    ) -> FieldBlock {
        guard settings.setsCookies, let store,
            let added = store.fields(adding: fields, for: url, text: urlText, keepsOwn: keepsOwn, now: clock.now),
            isWanted()
        else { return fields }
        return added
    }

    /// Stores the cookies of a response, as the accept policies of session and storage allow.
    ///
    /// Requests that begin from now on send the cookies. `completion` is called once, on any queue, when the cookies
    /// are in the storage.
    func store(
        _ head: ResponseHead, for url: URL, mainDocument: URL?, settings: SessionSettings,
        completion: @escaping @Sendable () -> Void
    ) {
        guard let store, let host = url.host else { return completion() }
        for policy in [settings.cookieAcceptPolicy, store.storage.cookieAcceptPolicy]
        where !CookieRules.allows(policy, host: host, mainDocument: mainDocument) { return completion() }
        var cookies: [HTTPCookie] = []
        let now = clock.now
        head.forEachLine { name, value in
            if ResponseHead.isName(name, "Set-Cookie"), let cookie = SetCookie(value),
                let accepted = CookieRules.accepted(cookie, from: url, now: now)
            {
                cookies.append(accepted)
            }
            return true
        }
        store.add(cookies, isSecure: url.scheme?.lowercased() == "https", now: now, completion: completion)
    }
}
