// Public suffixes: domains under which anyone can register a domain.

import Foundation

#if PublicSuffix
import CPublicSuffix
#endif

/// The public suffix list, as Debian's libpsl carries it (RFC 6265 §5.3, step 5).
///
/// Without the package's trait `PublicSuffix` there is no list, and every domain counts as a public suffix: a cookie is
/// then only for the host that set it.
package enum PublicSuffixes {
    #if PublicSuffix
    // SAFETY: the list is a constant of the library, which is never freed; reading it is safe from every thread
    // (libpsl's manual).
    private nonisolated(unsafe) static let list = psl_builtin()

    /// True for `com`, `co.uk`, `github.io`, and for every single label that the list does not know.
    ///
    /// `domain` is in lower case, without a leading dot.
    package static func contains(_ domain: String) -> Bool {
        guard let list else { return !domain.contains(".") }
        return psl_is_public_suffix(list, domain) == 1
    }

    /// The registrable domain: the public suffix and one label before it; the host itself when it has no such domain.
    package static func site(of host: String) -> String {
        guard !CookieRules.isAddress(host), let list else { return host }
        // `psl_registrable_domain` returns a pointer into its argument: the result is copied while the C string lives.
        return host.withCString { psl_registrable_domain(list, $0).map { String(cString: $0) } } ?? host
    }
    #else
    /// True: any domain may be a public suffix.
    package static func contains(_ domain: String) -> Bool { true }

    /// The host itself.
    package static func site(of host: String) -> String { host }
    #endif
}
