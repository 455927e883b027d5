// Cookies, their domains and their dates.

import Fireweed
import FireweedTransport
import Foundation
import FoundationNetworking

extension FuzzTarget {
    /// The first line is the URL that answers, every other one a field.
    static let setCookie = FuzzTarget("set-cookie", maximumByteCount: 6144) { bytes in
        let lines = bytes.textLines
        let url = lines.first.flatMap { URL(string: $0) } ?? Samples.url
        for line in lines.dropFirst() {
            guard let cookie = SetCookie(line) else { continue }
            try checkSyntax(of: cookie)
            for origin in [url, Samples.url] {
                guard let kept = CookieRules.accepted(line, from: origin, now: Samples.now) else { continue }
                try check(kept, from: origin)
            }
        }
    }

    private static func checkSyntax(of cookie: SetCookie) throws {
        try expect(!cookie.name.isEmpty || !cookie.value.isEmpty, "a cookie has a name or a value")
        try expect(cookie.name.utf8.count + cookie.value.utf8.count <= 4096, "name and value keep to the limit")
        for text in [cookie.name, cookie.value] {
            try expect(!text.hasByte(";"), "an attribute is no part of a name or value")
            try expect(text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 9 }, "no control characters are kept")
        }
        try expect(cookie.path.map { $0.utf8.first == 0x2F } ?? true, "a path begins with a slash")
        let again = SetCookie(cookie.text)
        // A value without a name may have a `=` of its own, which servers take for the end of a name: spaces around it
        // go.
        if !cookie.name.isEmpty || !cookie.value.hasByte("=") {
            try expectEqual(again?.text, cookie.text, "what is sent reads the same")
        }
        let attributes = [
            cookie.domain.map { "; Domain=\($0)" }, cookie.path.map { "; Path=\($0)" },
            cookie.expires.map { "; Expires=\(HTTPDate.text(of: $0))" },
            cookie.isSecure ? "; SECURE" : nil, cookie.isHTTPOnly ? " ;\thttponly=x" : nil,
        ]
        let whole = SetCookie("\(cookie.name)=\(cookie.value)" + attributes.compactMap { $0 }.joined())
        try expectEqual(whole?.isSecure, cookie.isSecure, "Secure survives being written")
        try expectEqual(whole?.isHTTPOnly, cookie.isHTTPOnly, "HttpOnly survives being written")
        try expectEqual(whole?.path, cookie.path, "Path survives being written")
        if let expires = cookie.expires, expires.timeIntervalSince1970 >= 0 {
            try expectEqual(whole?.expires, expires, "Expires survives being written")
        }
    }

    private static func check(_ cookie: HTTPCookie, from url: URL) throws {
        let host = CanonicalHost.identity(of: url.host ?? "")
        try expect(CookieRules.domainMatches(host, cookie.domain), "a cookie belongs to the host that sets it")
        let domain = cookie.domain.hasPrefix(".") ? String(cookie.domain.dropFirst()) : nil
        try expect(domain.map { !PublicSuffixes.contains($0) } ?? true, "no cookie is for a public suffix")
        try expect(!cookie.isSecure || url.scheme?.lowercased() == "https", "clear text sets nothing that is secure")
        if let expiry = cookie.expiresDate {
            try expect(expiry <= Samples.now.addingTimeInterval(400 * 86_400), "no cookie lives longer than 400 days")
        }
    }

    /// The content of a file of cookies.
    static let cookieFile = FuzzTarget("cookie-file", maximumByteCount: 2048) { bytes in
        let read = { try CookieFileContent.cookies(in: $0, now: Samples.now, keepsSessionCookies: true) }
        guard let found = try? read(Data(bytes)) else { return }
        for cookie in found {
            try expect(cookie.expiresDate.map { $0 > Samples.now } ?? true, "no cookie has expired")
        }
        let written = try CookieFileContent.data(of: found, now: Samples.now, keepsSessionCookies: true)
        let again = try read(written)
        try expectEqual(again.count, found.count, "every cookie survives being written")
        let twice = try CookieFileContent.data(of: again, now: Samples.now, keepsSessionCookies: true)
        try expectEqual(twice, written, "cookies survive being written")
        let kept = try CookieFileContent.data(of: found, now: Samples.now, keepsSessionCookies: false)
        try expect(try read(kept).allSatisfy { $0.expiresDate != nil }, "cookies of a session are not kept")
    }

    /// A host, a domain, a path of a request and a path of a cookie, in a line each.
    static let cookieDomain = FuzzTarget("cookie-domain", maximumByteCount: 512) { bytes in
        let lines = bytes.textLines
        let host = CanonicalHost.text(of: lines.first ?? "")
        let domain = CanonicalHost.text(of: lines.count > 1 ? lines[1] : "")
        try expectEqual(CanonicalHost.text(of: host), host, "the canonical form of a canonical host is the same")
        let site = PublicSuffixes.site(of: host)
        // The list's library reads up to a NUL, which no host has.
        if !host.hasByte("\0") {
            // Byte by byte: characters combine across the dot.
            try expect(host.utf8.reversed().starts(with: site.utf8.reversed()), "a site is the end of the host")
            if site != host { try expect(!PublicSuffixes.contains(site), "a site is no public suffix") }
        }
        if CookieRules.domainMatches(host, ".\(domain)"), !domain.isEmpty {
            try expect(host.utf8.count >= domain.utf8.count, "a host is no longer than what is below it")
            let above = host.utf8.dropLast(domain.utf8.count)
            try expect(above.isEmpty || above.last == 0x2E, "a domain matches at a dot")
            try expect(above.isEmpty || !CookieRules.isAddress(host), "nothing is below an address")
        }
        guard lines.count > 3, CookieRules.pathMatches(lines[2], lines[3]), lines[2] != lines[3] else { return }
        try expect(lines[2].utf8.starts(with: lines[3].utf8), "a path matches what is below it")
        let below = lines[2].utf8.dropFirst(lines[3].utf8.count)
        try expect(lines[3].utf8.last == 0x2F || below.first == 0x2F, "a path matches at a slash")
    }

    static let cookieDate = FuzzTarget("cookie-date", maximumByteCount: 256) { bytes in
        guard let date = CookieDate.parse(bytes.text) else { return }
        try expect(date.timeIntervalSince1970 >= -11_644_473_600, "no cookie has a date before 1601")
        try expect(date.timeIntervalSince1970 < 253_402_300_800, "a year has at most four digits")
        guard date.timeIntervalSince1970 >= 0 else { return }
        try expectEqual(CookieDate.parse(HTTPDate.text(of: date)), date, "a date survives being written")
    }
}

/// Values that many checks need.
enum Samples {
    static let url = URL(string: "https://www.example.com/a/b?c=d") ?? URL(fileURLWithPath: "/")
    /// 2026-01-01.
    static let now = Date(timeIntervalSince1970: 1_767_225_600)
}
