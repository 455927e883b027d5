// Cookies of a session, on their way out and in.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking

/// The cookies of a session (RFC 6265 §5).
///
/// They are in Foundation's storage, as configured, where users see and set them. `CookieRules` and `CookieIndex`
/// decide which are kept and which go where; `CookieStore` is what the sessions of one storage share.
final class CookieJar: Sendable {
    private let store: CookieStore?

    init(storage: HTTPCookieStorage?) {
        store = storage.map(CookieStore.of)
    }

    /// The hop's fields, with a `Cookie` field when there are cookies for it and it has none of its own.
    ///
    /// `urlText` is the text of the hop's URL.
    func addingCookies(
        for hop: Hop, urlText: String, settings: SessionSettings, isWanted: @autoclosure () -> Bool = true
    ) -> FieldBlock {
        guard settings.setsCookies, let store,
            let fields = store.fields(adding: hop.fields, for: hop.url, text: urlText), isWanted()
        else { return hop.fields }
        return fields
    }

    /// Stores what a response sets, as the accept policies of session and storage allow.
    ///
    /// Requests that begin from now on carry the cookies; they are in the storage when `completion` is called, once, on
    /// any queue.
    func store(
        _ head: ResponseHead, for url: URL, settings: SessionSettings, of record: RequestRecord,
        completion: @escaping @Sendable () -> Void = {}
    ) {
        guard let store, let host = url.host, record.existing?.httpShouldHandleCookies ?? true else {
            return completion()
        }
        let mainDocument = record.existing?.mainDocumentURL
        for policy in [settings.cookieAcceptPolicy, store.storage.cookieAcceptPolicy]
        where !CookieRules.allows(policy, host: host, mainDocument: mainDocument) { return completion() }
        var cookies: [HTTPCookie] = []
        let now = Date()
        head.forEachLine { name, value in
            if ResponseHead.isName(name, "Set-Cookie"), let cookie = SetCookie(value),
                let accepted = CookieRules.accepted(cookie, from: url, now: now)
            {
                cookies.append(accepted)
            }
            return true
        }
        store.add(cookies, isSecure: url.scheme?.lowercased() == "https", completion: completion)
    }
}
