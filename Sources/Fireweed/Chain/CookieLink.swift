// Cookies in the chain.

import FireweedTransport
import Foundation

/// Adds the session's cookies to messages, and stores the cookies that responses set (RFC 6265 §5.3, §5.4).
final class CookieLink: Link {
    let jar: CookieJar
    let settings: SessionSettings
    /// Whether the message's own `Host` and `Cookie` count (`SessionOptions.cookiesFollowFields`).
    let followsFields: Bool

    init(jar: CookieJar, settings: SessionSettings, followsFields: Bool = false) {
        self.jar = jar
        self.settings = settings
        self.followsFields = followsFields
    }

    var interest: HeadInterest { HeadInterest(marks: .setsCookies) }

    func send(_ exchange: inout ChainContext, for host: any LinkContext) -> Decision {
        let other = otherURL(of: exchange)
        exchange.fields = jar.addingCookies(
            to: exchange.fields, for: other ?? exchange.url, urlText: other?.absoluteString ?? exchange.urlText,
            settings: settings, keepsOwn: followsFields, isWanted: host.handlesCookies)
        return .pass
    }

    /// Cookies of a redirect, a challenge or a 304 count too.
    func observe(_ head: ResponseHead, in exchange: inout ChainContext, for host: any LinkContext) {
        guard settings.storesCookies, head.marks.contains(.setsCookies), host.handlesCookies else { return }
        let url = otherURL(of: exchange) ?? exchange.url
        exchange.deferredWork.append { [jar, settings, mainDocument = host.mainDocument] group in
            group.enter()
            jar.store(head, for: url, mainDocument: mainDocument, settings: settings) { group.leave() }
        }
    }

    /// The URL with the host of the message's own `Host`, where that host's cookies count; otherwise `nil`.
    private func otherURL(of exchange: ChainContext) -> URL? {
        guard followsFields, let name = exchange.fields.value(of: "Host"), let host = URL(string: "//\(name)")?.host,
            var parts = URLComponents(url: exchange.url, resolvingAgainstBaseURL: false)
        else { return nil }
        parts.host = host
        return parts.url
    }
}
