// The request that a redirect leads to, as rules on plain values.

import FireweedTransport
package import Foundation

/// The rules of RFC 9110 §15.4 as browsers follow them, with the fields that must not be sent after a redirect.
package enum RedirectRules {
    /// The statuses whose `Location` is followed.
    static let statuses: Set<Int> = [301, 302, 303, 307, 308]

    /// Fields that describe the content, and are dropped together with it.
    private static let contentFields = [
        "Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Location", "Digest",
        "Transfer-Encoding",
    ]

    /// The method of the next message: 303 turns every method except HEAD into GET, 301 and 302 only POST.
    static func method(after method: String, status: Int) -> String {
        switch status {
        case 303: method == "HEAD" ? "HEAD" : "GET"
        case 301, 302: method == "POST" ? "GET" : method
        default: method
        }
    }

    /// The target: `location` resolved against the present URL, whose fragment is kept unless the target has one
    /// (§10.2.2).
    ///
    /// Across origins the target has no userinfo: a server must not choose the credentials for another server.
    package static func target(of location: String, from base: URL) -> URL? {
        guard var target = URLReference.resolve(location, against: base) else { return nil }
        if !isSameOrigin(target, base), let split = Userinfo.split(target.absoluteString) {
            guard let bare = URL(string: split.url) else { return nil }
            target = bare
        }
        guard target.fragment == nil, let fragment = base.fragment(percentEncoded: true) else { return target }
        return URL(string: "\(target.absoluteString)#\(fragment)")
    }

    /// Whether scheme, host and port are the same (RFC 9110 §4.3.1); `name` and `name.` are two hosts, as in browsers.
    package static func isSameOrigin(_ left: URL, _ right: URL) -> Bool {
        left.scheme?.lowercased() == right.scheme?.lowercased()
            && left.host.map(CanonicalHost.identity) == right.host.map(CanonicalHost.identity)
            && left.effectivePort == right.effectivePort
    }

    /// The fields that the next message may carry; `credentialFieldNames` is `nil` when the next message has the same
    /// origin.
    ///
    /// For another origin, a `Host` field of the caller is dropped too, since it names the host of one origin.
    static func fields(
        _ fields: FieldBlock, dropping credentialFieldNames: [String]?, dropsContent: Bool
    ) -> FieldBlock {
        // Fields with credentials must be sent only to the origin that they were set for.
        let credentials = credentialFieldNames.map { CredentialFields($0) }
        let dropped = dropsContent ? contentFields : []
        let kept = fields.fields.filter { field in
            guard let credentials else { return !dropped.contains(where: field.name.isEqualIgnoringASCIICase) }
            return credentials.kind(of: field.name) == nil
                && !dropped.contains(where: field.name.isEqualIgnoringASCIICase)
                && !field.name.isEqualIgnoringASCIICase("Host")
        }
        return kept.count == fields.fields.count ? fields : FieldBlock(kept)
    }
}
