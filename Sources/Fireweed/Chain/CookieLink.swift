// Cookies in the chain.

import FireweedTransport
import Foundation

/// Adds the session's cookies to messages, and stores the cookies that responses set (RFC 6265 §5.3, §5.4).
struct CookieLink: Link {
    let jar: CookieJar
    let settings: SessionSettings

    var interest: HeadInterest { HeadInterest(marks: .setsCookies) }

    func send(_ exchange: inout ChainContext, for host: any LinkContext) -> Decision {
        exchange.fields = jar.addingCookies(
            to: exchange.fields, for: exchange.url, urlText: exchange.urlText, settings: settings,
            isWanted: host.handlesCookies)
        return .pass
    }

    /// Cookies of a redirect, a challenge or a 304 count too.
    func observe(_ head: ResponseHead, in exchange: inout ChainContext, for host: any LinkContext) {
        guard settings.storesCookies, head.marks.contains(.setsCookies), host.handlesCookies else { return }
        exchange.deferredWork.append { [jar, settings, url = exchange.url, mainDocument = host.mainDocument] group in
            group.enter()
            jar.store(head, for: url, mainDocument: mainDocument, settings: settings) { group.leave() }
        }
    }
}
