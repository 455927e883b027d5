import FixtureServer
import Foundation
import Testing

/// RFC 6265 §5, rule by rule, through the whole stack.
@Suite("Cookie rules (RFC 6265)", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CookieRuleTests {
    @Test("over the wire", arguments: allCases.filter(\.isClear))
    func wire(played: CookieCase) async throws {
        #expect(try await CookieStage.overTheWire(played) == played.expected)
    }

    @Test("over a transport of a script, for TLS too", arguments: allCases)
    func scripted(played: CookieCase) async throws {
        #expect(try await CookieStage.scripted(played) == played.expected)
    }

    @Test("there are at least 80 cases, and no two of them are the same")
    func count() {
        #expect(Set(Self.allCases.map(\.testDescription)).count == Self.allCases.count)
        #expect(Self.allCases.count >= 80)
    }

    static let allCases = dates + domains + paths + parsing + attributes + storing + sending + successor

    private static let www = "http://www.example.com/"

    // MARK: §5.1.1

    private static func date(_ rule: String, _ text: String, isPast: Bool) -> CookieCase {
        CookieCase("5.1.1", rule, "a=1; Expires=\(text)", isPast ? nil : "a=1")
    }

    /// A date in the past deletes; one that cannot be read leaves a cookie of the session.
    static let dates: [CookieCase] = [
        date("the usual form, past", "Sun, 06 Nov 1994 08:49:37 GMT", isPast: true),
        date("the usual form, to come", "Wed, 09 Jun 2100 10:18:14 GMT", isPast: false),
        date("the older form with a year of two digits", "Sunday, 06-Nov-94 08:49:37 GMT", isPast: true),
        date("the form of asctime", "Sun Nov  6 08:49:37 1994", isPast: true),
        date("years 70 to 99 are of the last century", "01-Jan-70 00:00:01 GMT", isPast: true),
        date("years 00 to 69 are of this one", "01-Jan-69 00:00:01 GMT", isPast: false),
        date("the parts in any order", "08:49:37 1994 06 Nov", isPast: true),
        date("the month without case", "06 nOV 1994 08:49:37", isPast: true),
        date("the month by its first three letters", "06 November 1994 08:49:37", isPast: true),
        date("any delimiters", "06/Nov/1994,08:49:37", isPast: true),
        date("something after the day's digits", "6th Nov 1994 08:49:37", isPast: true),
        date("something after the time's digits", "06 Nov 1994 08:49:37Z", isPast: true),
        date("fields of the time with one digit", "06 Nov 1994 8:4:7", isPast: true),
        date("of two times the first counts", "06 Nov 1994 08:49:37 25:00:00", isPast: true),
        date("no time", "Sun, 06 Nov 1994", isPast: false),
        date("no year", "Sun, 06 Nov 08:49:37", isPast: false),
        date("no month", "06 1994 08:49:37", isPast: false),
        date("day 0", "00 Nov 1994 08:49:37", isPast: false),
        date("day 32", "32 Nov 1994 08:49:37", isPast: false),
        date("a day that the month does not have", "31 Feb 1994 08:49:37", isPast: false),
        date("hour 24", "06 Nov 1994 24:00:00", isPast: false),
        date("minute 60", "06 Nov 1994 08:60:00", isPast: false),
        date("second 60", "06 Nov 1994 08:49:60", isPast: false),
        date("a year before 1601", "06 Nov 1600 08:49:37", isPast: false),
        date("a year of five digits", "06 Nov 19940 08:49:37", isPast: false),
        date("nothing", "", isPast: false),
    ]

    // MARK: §5.1.2, §5.1.3

    private static func domain(_ rule: String, _ domain: String, _ to: String, _ isSent: Bool) -> CookieCase {
        CookieCase(
            "5.1.3", rule, "a=1; Domain=\(domain)", from: "http://www.example.com/", to: to, isSent ? "a=1" : nil)
    }

    static let domains: [CookieCase] = [
        CookieCase(
            "5.1.2", "the host is compared without case", "a=1", from: "http://WWW.Example.COM/", to: www, "a=1"),
        CookieCase(
            "5.1.2", "a Unicode host is compared by its A-labels", "a=1", from: "http://www.bücher.example/",
            to: "http://www.xn--bcher-kva.example/", "a=1"),
        CookieCase(
            "5.1.2", "a Unicode domain is compared by its A-labels", "a=1; Domain=Bücher.example",
            from: "http://www.xn--bcher-kva.example/", to: "http://x.bücher.example/", "a=1"),
        CookieCase(
            "5.1.2", "a full name with a dot at its end is another host", "a=1",
            from: "http://www.example.com./", to: www, nil),
        CookieCase(
            "5.1.2", "a host is another one than its full name with a dot at its end", "a=1", from: www,
            to: "http://www.example.com./", nil),
        CookieCase(
            "5.3.6", "a domain without a dot at its end is for hosts without one", "a=1; Domain=example.com",
            from: "http://www.example.com./", to: "http://www.example.com./", nil),
        CookieCase(
            "5.3.5", "a top-level domain with a dot at its end is public for a host with one", "a=1; Domain=com.",
            from: "http://www.example.com./", to: "http://other.com./", nil),
        CookieCase(
            "5.1.2", "an address is compared by its value", "a=1", from: "http://[2001:DB8:0::1]/",
            to: "http://[2001:db8::1]/", "a=1"),
        CookieCase(
            "5.3.5", "a top-level domain with a dot at its end is public", "a=1; Domain=com.", from: www, to: www, nil),
        CookieCase(
            "5.3.6", "a domain with a dot at its end is another one than without", "a=1; Domain=example.com.",
            from: www, to: www, nil),
        CookieCase(
            "5.3.6", "a domain with a dot at its end is for a host with one", "a=1; Domain=example.com.",
            from: "http://www.example.com./", to: "http://www.example.com./", "a=1"),
        CookieCase("5.3.6", "no host ends in two dots", "a=1; Domain=com..", from: www, to: www, nil),
        domain("the domain itself", "example.com", "http://example.com/", true),
        domain("a host below it", "example.com", "http://other.example.com/", true),
        domain("a host two labels below it", "example.com", "http://a.b.example.com/", true),
        domain("a host that ends alike, but not at a dot", "example.com", "http://badexample.com/", false),
        domain("the domain within a longer one", "example.com", "http://example.com.evil.org/", false),
        domain("a sibling of a named host", "www.example.com", "http://other.example.com/", false),
        domain("a host below a named one", "www.example.com", "http://a.www.example.com/", true),
        CookieCase(
            "5.1.3", "never below an address", "a=1; Domain=0.2.1", from: "http://192.0.2.1/", to: "http://192.0.2.1/",
            nil),
        CookieCase(
            "5.1.3", "an address is itself", "a=1; Domain=192.0.2.1", from: "http://192.0.2.1/",
            to: "http://192.0.2.1/",
            "a=1"),
        CookieCase(
            "5.1.3", "another address is another host", "a=1", from: "http://192.0.2.1/", to: "http://192.0.2.2/", nil),
        CookieCase(
            "5.1.3", "an IPv6 address", "a=1", from: "http://[2001:db8::1]/", to: "http://[2001:db8::1]/", "a=1"),
        CookieCase("5.1.3", "the port does not matter", "a=1", from: "http://www.example.com:8080/", to: www, "a=1"),
    ]

    // MARK: §5.1.4

    private static func path(_ rule: String, _ path: String?, from: String = "/", to: String, _ isSent: Bool)
        -> CookieCase
    {
        CookieCase(
            "5.1.4", rule, path.map { "a=1; Path=\($0)" } ?? "a=1", from: "http://www.example.com\(from)",
            to: "http://www.example.com\(to)", isSent ? "a=1" : nil)
    }

    static let paths: [CookieCase] = [
        path("the default path is the folder", nil, from: "/a/b", to: "/a/c", true),
        path("the default path is no longer than the folder", nil, from: "/a/b", to: "/a", true),
        path("the default path is not above the folder", nil, from: "/a/b", to: "/", false),
        path("the default path ends at a slash", nil, from: "/a/b", to: "/ab", false),
        path("the default path of a folder is the folder", nil, from: "/a/", to: "/a/x", true),
        path("with one slash the default path is /", nil, from: "/a", to: "/z", true),
        path("without a path the default path is /", nil, from: "", to: "/z", true),
        path("the query is no part of the default path", nil, from: "/a/b?c=/d/e", to: "/a/z", true),
        path("the path itself", "/foo", to: "/foo", true),
        path("a path below it", "/foo", to: "/foo/bar", true),
        path("the path with a slash", "/foo", to: "/foo/", true),
        path("a path that begins alike, but not at a slash", "/foo", to: "/foobar", false),
        path("a path that is shorter", "/foo", to: "/fo", false),
        path("a path that ends in a slash, below it", "/foo/", to: "/foo/bar", true),
        path("a path that ends in a slash, without it", "/foo/", to: "/foo", false),
        path("paths have case", "/foo", to: "/Foo", false),
        path("the query is no part of the path", "/foo", to: "/foo?x=/y", true),
        path("percent-encoding is compared as it is", "/a%20b", to: "/a%20b/c", true),
        path("a request without a path", "/", to: "", true),
        path("a path far below", "/a/b/c", to: "/a/b/c/d/e", true),
        path("a path beside it", "/a/b/c", to: "/a/b/d", false),
    ]

    // MARK: §5.2

    static let parsing: [CookieCase] = [
        CookieCase("5.2", "white space around name and value goes", "  a \t=\t 1  ", "a=1"),
        CookieCase("5.2", "the first = divides", "a=1=2==", "a=1=2=="),
        CookieCase("bis 5.6", "without = it is a value without a name", "a", "a"),
        CookieCase("bis 5.6", "of two without a name the later one replaces", [(www, ["a", "=b"])], to: www, "b"),
        CookieCase("bis 5.7", "a value without a name cannot play a prefix", "=__Host-a=1", from: tls, to: tls, nil),
        CookieCase("bis 5.6", "without a name it is its value", "=1", "1"),
        CookieCase("5.2", "with nothing but = it is ignored", "=", nil),
        CookieCase("5.2", "nothing is ignored", "", nil),
        CookieCase("5.2", "an attribute's = does not count for the cookie", "a; Path=/", "a"),
        CookieCase("5.2", "an empty value", "a=", "a="),
        CookieCase("5.2", "quotes are a part of the value", "a=\"1 2\"", "a=\"1 2\""),
        CookieCase("5.2", "white space inside a value stays", "a=1  2", "a=1  2"),
        CookieCase("5.2", "a comma is a part of the value", "a=1,b=2", "a=1,b=2"),
        CookieCase("5.2", "a semicolon at the end", "a=1;", "a=1"),
        CookieCase("5.2", "several semicolons", "a=1;;; ;", "a=1"),
        CookieCase("5.2", "an unknown attribute is ignored", "a=1; Priority=High; x; =y", "a=1"),
        CookieCase("5.2", "names of attributes have no case", "a=1; PaTh=/other", nil),
        CookieCase("5.2", "white space around attributes goes", "a=1 ;\t Path \t=  /d  ", "a=1"),
        CookieCase("5.2", "names of cookies have case", [(www, ["a=1", "A=2"])], to: www, "a=1; A=2"),
        CookieCase("5.2", "characters beyond ASCII", "a=\u{FC}\u{1F36A}", "a=\u{FC}\u{1F36A}"),
    ]

    private static let past = "Expires=Sun, 06 Nov 1994 08:49:37 GMT"
    private static let future = "Expires=Wed, 09 Jun 2100 10:18:14 GMT"

    static let attributes: [CookieCase] = [
        CookieCase("5.2.1", "Expires in the past", "a=1; \(past)", nil),
        CookieCase("5.2.1", "Expires to come", "a=1; \(future)", "a=1"),
        CookieCase("5.2.2", "Max-Age of zero", "a=1; Max-Age=0", nil),
        CookieCase("5.2.2", "a negative Max-Age", "a=1; Max-Age=-1", nil),
        CookieCase("5.2.2", "a Max-Age to come", "a=1; Max-Age=3600", "a=1"),
        CookieCase("5.2.2", "a Max-Age of many digits", "a=1; Max-Age=99999999999999999999999", "a=1"),
        CookieCase("5.2.2", "a negative Max-Age of many digits", "a=1; Max-Age=-99999999999999999999999", nil),
        CookieCase("5.2.2", "a Max-Age that begins otherwise is ignored", "a=1; Max-Age=+60; \(past)", nil),
        CookieCase("5.2.2", "a Max-Age with anything but digits is ignored", "a=1; Max-Age=60s; \(past)", nil),
        CookieCase("5.2.2", "an empty Max-Age is ignored", "a=1; Max-Age=; \(past)", nil),
        CookieCase(
            "5.2.3", "a dot before the domain goes", "a=1; Domain=.example.com", from: www, to: "http://x.example.com/",
            "a=1"),
        CookieCase(
            "5.2.3", "the domain has no case", "a=1; Domain=EXAMPLE.com", from: www, to: "http://x.example.com/", "a=1"),
        CookieCase("5.2.3", "an empty domain is as none", "a=1; Domain=", from: www, to: www, "a=1"),
        CookieCase(
            "5.2.3", "an empty domain makes host-only", "a=1; Domain=", from: www, to: "http://x.www.example.com/", nil),
        CookieCase("5.2.4", "a path without a slash is the default path", "a=1; Path=other", "a=1"),
        CookieCase(
            "5.2.4", "an empty path is the default path", "a=1; Path=", from: "http://www.example.com/d/p", to: www, nil
        ),
        CookieCase(
            "5.2.5", "Secure with a value is Secure", "a=1; Secure=no", from: "https://www.example.com/", to: www, nil),
        CookieCase("5.2.6", "HttpOnly cookies are sent", "a=1; HttpOnly", "a=1"),
        CookieCase("5.2.6", "HttpOnly with a value", "a=1; httponly=x", "a=1"),
    ]

    // MARK: §5.3

    static let storing: [CookieCase] = [
        CookieCase("5.3", "Max-Age wins over Expires: it lives", "a=1; Max-Age=3600; \(past)", "a=1"),
        CookieCase("5.3", "Max-Age wins over Expires: it is gone", "a=1; \(future); Max-Age=0", nil),
        CookieCase("5.3", "of two Expires the last counts", "a=1; \(future); \(past)", nil),
        CookieCase("5.3", "of two Max-Age the last counts", "a=1; Max-Age=0; Max-Age=60", "a=1"),
        CookieCase("5.3", "of two paths the last counts", "a=1; Path=/other; Path=/d", "a=1"),
        CookieCase("5.3", "of two paths an empty last one counts", "a=1; Path=/other; Path=", "a=1"),
        CookieCase(
            "5.3", "of two domains the last counts", "a=1; Domain=other.org; Domain=example.com", from: www,
            to: "http://x.example.com/", "a=1"),
        CookieCase("5.3.5", "a top-level domain is public", "a=1; Domain=com", from: www, to: www, nil),
        CookieCase(
            "5.3.5", "a public suffix of two labels", "a=1; Domain=co.uk", from: "http://www.example.co.uk/",
            to: "http://www.example.co.uk/", nil),
        CookieCase(
            "5.3.5", "a site below a public suffix", "a=1; Domain=example.co.uk", from: "http://www.example.co.uk/",
            to: "http://x.example.co.uk/", "a=1"),
        CookieCase(
            "5.3.5", "a suffix that a company offers", "a=1; Domain=github.io", from: "http://me.github.io/",
            to: "http://you.github.io/", nil),
        CookieCase(
            "5.3.5", "a rule with a wildcard", "a=1; Domain=foo.ck", from: "http://a.foo.ck/", to: "http://a.foo.ck/",
            nil),
        CookieCase(
            "5.3.5", "an exception of that rule", "a=1; Domain=www.ck", from: "http://a.www.ck/",
            to: "http://b.www.ck/", "a=1"),
        CookieCase(
            "5.3.5", "a label that the list does not know", "a=1; Domain=internal", from: "http://a.internal/",
            to: "http://a.internal/", nil),
        CookieCase(
            "5.3.5", "a name below an unknown label", "a=1; Domain=corp.internal", from: "http://a.corp.internal/",
            to: "http://b.corp.internal/", "a=1"),
        CookieCase(
            "5.3.5", "a public suffix for itself is host-only: it is sent there", "a=1; Domain=github.io",
            from: "http://github.io/", to: "http://github.io/", "a=1"),
        CookieCase(
            "5.3.5", "a public suffix for itself is host-only: not below", "a=1; Domain=github.io",
            from: "http://github.io/", to: "http://me.github.io/", nil),
        CookieCase(
            "5.3.5", "localhost for itself", "a=1; Domain=localhost", from: "http://localhost/",
            to: "http://localhost/", "a=1"),
        CookieCase(
            "5.3.6", "another domain is refused", "a=1; Domain=other.com", from: www, to: "http://other.com/", nil),
        CookieCase(
            "5.3.6", "another domain leaves nothing at home either", "a=1; Domain=other.com", from: www, to: www, nil),
        CookieCase(
            "5.3.6", "a host below is refused", "a=1; Domain=www.example.com", from: "http://example.com/", to: www, nil
        ),
        CookieCase(
            "5.3.6", "a domain that ends alike is refused", "a=1; Domain=xample.com", from: "http://example.com/",
            to: "http://example.com/", nil),
        CookieCase(
            "5.3.6", "without a domain it is for the host alone", "a=1", from: "http://example.com/", to: www, nil),
        CookieCase(
            "5.3.6", "without a domain it is not for the domain above", "a=1", from: www, to: "http://example.com/", nil
        ),
        CookieCase(
            "5.3.11", "the same name, domain and path replace", [(www, ["a=1"]), (www, ["a=2"])], to: www, "a=2"),
        CookieCase(
            "5.3.11", "a replacement keeps its place", [(www, ["a=1", "b=2"]), (www, ["a=3"])], to: www, "a=3; b=2"),
        CookieCase(
            "5.3.11", "a second replacement keeps it too", [(www, ["a=1", "b=2"]), (www, ["a=3"]), (www, ["a=4"])],
            to: www, "a=4; b=2"),
        CookieCase(
            "5.3.11", "a cookie that was deleted comes last when it comes again",
            [(www, ["a=1", "b=2"]), (www, ["a=; Max-Age=0"]), (www, ["a=3"])], to: www, "b=2; a=3"),
        CookieCase(
            "5.3.11", "another path is another cookie", [(www, ["a=1; Path=/", "a=2; Path=/x"])], to: "\(www)x",
            "a=2; a=1"),
        CookieCase(
            "5.3.11", "another domain is another cookie", [(www, ["a=1; Domain=example.com", "a=2"])], to: www,
            "a=1; a=2"),
        CookieCase(
            "5.3.11", "host-only or not, one domain is one cookie",
            [("http://example.com/", ["a=1", "a=2; Domain=example.com"])], to: www, "a=2"),
        CookieCase(
            "5.3.11", "and the other way around", [("http://example.com/", ["a=1; Domain=example.com", "a=2"])],
            to: www, nil),
        CookieCase(
            "5.3", "deleting needs the same path", [(www, ["a=1; Path=/x"]), (www, ["a=; Path=/; Max-Age=0"])],
            to: "\(www)x", "a=1"),
        CookieCase(
            "5.3", "deleting needs the same domain", [(www, ["a=1; Domain=example.com"]), (www, ["a=; Max-Age=0"])],
            to: www, "a=1"),
        CookieCase("5.3", "deleting with an empty value", [(www, ["a=1"]), (www, ["a=; \(past)"])], to: www, nil),
        CookieCase("5.3", "a good field after a bad one", [(www, ["=", "b=\u{1}", "a=1"])], to: www, "a=1"),
    ]

    // MARK: §5.4

    static let sending: [CookieCase] = [
        CookieCase("5.4", "several cookies in one field", [(www, ["a=1", "b=2", "c=3"])], to: www, "a=1; b=2; c=3"),
        CookieCase(
            "5.4.2", "longer paths come first", [(www, ["a=1; Path=/", "b=2; Path=/x/y", "c=3; Path=/x"])],
            to: "\(www)x/y", "b=2; c=3; a=1"),
        CookieCase(
            "5.4.2", "of equal paths the older comes first", [(www, ["z=1"]), (www, ["a=2"])], to: www, "z=1; a=2"),
        CookieCase(
            "5.4.1", "Secure cookies over TLS", "a=1; Secure", from: "https://www.example.com/",
            to: "https://www.example.com/", "a=1"),
        CookieCase(
            "5.4.1", "Secure cookies not in clear text", "a=1; Secure", from: "https://www.example.com/", to: www, nil),
        CookieCase(
            "5.4.1", "other cookies of TLS in clear text too", "a=1", from: "https://www.example.com/", to: www, "a=1"),
        CookieCase(
            "5.4.1", "cookies of clear text over TLS too", "a=1", from: www, to: "https://www.example.com/", "a=1"),
        CookieCase(
            "5.4.3", "what is no cookie of the host is not sent", [(www, ["a=1"]), ("http://other.org/", ["b=2"])],
            to: "http://other.org/", "b=2"),
    ]

    // MARK: What RFC 6265's successor adds

    private static let tls = "https://www.example.com/"

    static let successor: [CookieCase] = [
        CookieCase("bis 5.7", "Secure cannot be set in clear text", "a=1; Secure", from: www, to: tls, nil),
        CookieCase(
            "bis 5.7", "clear text cannot overlay a Secure cookie", [(tls, ["a=1; Secure"]), (www, ["a=2"])], to: tls,
            "a=1"),
        CookieCase(
            "bis 5.7", "nor from a domain above",
            [(tls, ["a=1; Secure"]), ("http://example.com/", ["a=2; Domain=example.com"])], to: tls, "a=1"),
        CookieCase("bis 5.7", "nor delete one", [(tls, ["a=1; Secure"]), (www, ["a=; Max-Age=0"])], to: tls, "a=1"),
        CookieCase("bis 5.7", "another name is free", [(tls, ["a=1; Secure"]), (www, ["b=2"])], to: tls, "a=1; b=2"),
        CookieCase("bis 4.1.3", "__Secure- needs Secure", "__Secure-a=1", from: tls, to: tls, nil),
        CookieCase("bis 4.1.3", "__Secure- with Secure", "__Secure-a=1; Secure", from: tls, to: tls, "__Secure-a=1"),
        CookieCase("bis 4.1.3", "__Secure- not in clear text", "__Secure-a=1; Secure", from: www, to: tls, nil),
        CookieCase(
            "bis 4.1.3", "__Host- with all it needs", "__Host-a=1; Secure; Path=/", from: tls, to: tls, "__Host-a=1"),
        CookieCase(
            "bis 4.1.3", "__Host- has no domain", "__Host-a=1; Secure; Path=/; Domain=example.com", from: tls, to: tls,
            nil),
        CookieCase("bis 4.1.3", "__Host- has the path /", "__Host-a=1; Secure; Path=/x", from: tls, to: "\(tls)x", nil),
        CookieCase("bis 4.1.3", "__Host- names its path", "__Host-a=1; Secure", from: tls, to: tls, nil),
        CookieCase("bis 4.1.3", "prefixes have no case", "__hOsT-a=1; Secure", from: tls, to: tls, nil),
        CookieCase("bis 5.6", "SameSite keeps nothing from a client that has no sites", "a=1; SameSite=Strict", "a=1"),
        CookieCase(
            "bis 5.6", "name and value of 4,096 bytes", "a=\(String(repeating: "x", count: 4095))",
            "a=\(String(repeating: "x", count: 4095))"),
        CookieCase(
            "bis 5.6", "name and value of one byte more are ignored", "a=\(String(repeating: "x", count: 4096))", nil),
        CookieCase(
            "bis 5.6", "an attribute that is too long is ignored",
            "a=1; Path=/other\(String(repeating: "x", count: 1024))", "a=1"),
        CookieCase("bis 5.6", "control characters are ignored with their cookie", "a=1\u{1}2", nil),
        CookieCase("bis 5.6", "and in attributes", "a=1; Path=/\u{7F}", nil),
    ]
}
