// Conversion of a curl command to an invocation, and to the URL and credentials of each request.

import CommandLanguage
import Fireweed
import Foundation
import Glibc

extension CURLTransfer {
    /// Returns the invocation of this part of a command, based on `given`; throws `UsageError`.
    func applied(to given: Invocation) throws -> Invocation {
        var invocation = given
        guard !urls.isEmpty else {
            throw UsageError(message: "the curl command has no URL; the whole command has to be one word, in quotes")
        }
        if isHead, !sendsDataInQuery, let option = content.option { throw CURLContent.conflict("-I", option) }
        if proxy?.isEmpty == true {
            // `-x ''` also disables the environment's proxy.
            invocation.bypassedHosts = ["*"]
        } else if let proxy {
            guard Proxy(proxy) != nil else { throw UsageError(message: "the proxy of the curl command is not a URL") }
            invocation.proxy = proxy
            // As in curl, the environment's exceptions (`no_proxy`) apply to this proxy too.
            if invocation.bypassedHosts.isEmpty, !invocation.bypassesNothing {
                let names: [String] = ["no_proxy", "NO_PROXY"]
                let lists = names.compactMap { name in getenv(name).map { String(cString: $0) } }
                let list = lists.first { !$0.isEmpty } ?? ""
                invocation.bypassedHosts = list.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            }
        }
        // curl accepts `--cacert` with `-k` and ignores it; here `--insecure` and `--cacert` together are a usage
        // error, so the file is dropped. `--cacert` alone replaces an `--insecure` of the configuration file.
        if isInsecure {
            invocation.authorityFile = nil
        } else if invocation.authorityFile != nil {
            invocation.isInsecure = false
        }
        if let proxyUser, proxy == nil { addUser(proxyUser, to: &invocation) }
        if lowestSpeed != nil || lowSpeedSeconds != nil {
            guard (lowestSpeed ?? 1) <= 1 else {
                throw UsageError(message: "--speed-limit of the curl command can be 1 alone, which is our --timeout")
            }
            if lowestSpeed != 0 { invocation.timeout = Double(lowSpeedSeconds ?? 30) }
        }
        if trustsRedirects, waitsForChallenge || ![nil, .basic].contains(invocation.authenticationType) {
            throw UsageError(message: "--location-trusted of the curl command goes with --basic and tokens alone")
        }
        if let bearerToken { (invocation.authentication, invocation.authenticationType) = (bearerToken, .bearer) }
        invocation.urlPatterns = try urls.map {
            takesURLsLiterally || !Self.hasPattern($0)
                ? URLGlob(literal: Self.withoutEscapes($0)) : try URLGlob($0, asCURL: true)
        }
        // curl saves a response of any status, unless `-f` is given.
        invocation.savesAnyStatus = !invocation.failsWithStatus
        invocation.curl = self
        try invocation.takeURL(at: 0)
        if invocation.urlCount == 1 {
            invocation.outputFile = try invocation.invocation(at: 0).outputFile
            invocation.urlPatterns = []
        }
        // curl ignores `--digest` and the like when there are no credentials; Negotiate needs none here.
        if invocation.authentication == nil, invocation.userInfo == nil, invocation.authenticationType != .negotiate {
            invocation.authenticationType = nil
        }
        return invocation
    }

    /// Gives the proxies of the defaults and of the environment a user, as `-U` does without `-x`.
    private func addUser(_ user: String, to invocation: inout Invocation) {
        if let proxy = invocation.proxy {
            invocation.proxy = CURLProxy.adding(user: user, to: proxy)
            return
        }
        for scheme in ["http", "https"] {
            let names = Proxy.variableNames(isSecure: scheme == "https")
            let found = names.lazy.compactMap { getenv($0).map { String(cString: $0) } }.first { !$0.isEmpty }
            guard let text = invocation.schemeProxies[scheme] ?? found else { continue }
            invocation.schemeProxies[scheme] = CURLProxy.adding(user: user, to: CURLProxy.url(text, scheme: "http"))
        }
    }

    /// Whether a URL has brackets or braces that are not escaped; `URLGlob` leaves the brackets of an IPv6 address as
    /// they are.
    private static func hasPattern(_ text: String) -> Bool {
        var isEscaped = false
        for index in text.indices {
            if isEscaped {
                isEscaped = false
            } else if text[index] == "\\" {
                isEscaped = true
            } else if text[index] == "{" || text[index] == "[" {
                return true
            }
        }
        return false
    }

    /// Returns the URL without the backslashes that browsers write before brackets and braces.
    private static func withoutEscapes(_ text: String) -> String {
        text.replacing(/\\([\[\]{}])/) { String($0.1) }
    }

    // MARK: URLs

    /// Returns the URL that curl makes of a word, as text and parsed, and separately its decoded user and password.
    ///
    /// Throws `UsageError` for a word that is not a URL of HTTP.
    func read(_ word: String) throws -> (text: String, url: URL?, userInfo: String?) {
        let start = word.prefix { $0 != "/" }
        let lacksSlash =
            ["http:", "https:"].contains(start.lowercased()) && !word.dropFirst(start.count).hasPrefix("//")
        let text =
            CURLScheme.end(of: word) != nil
            ? word : lacksSlash ? "\(start)/\(word.dropFirst(start.count))" : "http://\(word)"
        let (address, userInfo) = URLShorthand.withoutUserInfo(text)
        guard let start = CURLScheme.end(of: address)?.upperBound else { throw Self.invalid(word) }
        let scheme = address[..<start].lowercased()
        guard ["http://", "https://"].contains(scheme) else {
            throw UsageError(message: "\(scheme.dropLast(3)) cannot be sent; only http and https can")
        }
        var rest = address[start...].prefix { $0 != "#" }
        let authority = rest.prefix { !"/?".contains($0) }
        rest = rest[authority.endIndex...]
        var path = String(rest.prefix { $0 != "?" })
        var query = rest.dropFirst(path.count).first == "?" ? [String(rest.dropFirst(path.count + 1))] : []
        if path.isEmpty { path = "/" }
        if !keepsPath { path = DotSegments.removed(from: path) }
        if let name = try uploadName, path.hasSuffix("/") { path += name }
        query += try self.query.map { value in
            if value.first == UInt8(ascii: "+") { return String(decoding: value.dropFirst(), as: UTF8.self) }
            return Self.lowerCase(String(decoding: try CURLContent.escaped(value), as: UTF8.self))
        }
        if sendsDataInQuery, !content.isEmpty, !content.isForm {
            if query == [""] { query = [] }  // of a URL that ends with "?"
            query.append(String(decoding: try content.data(), as: UTF8.self))
        }
        let full = "\(scheme)\(authority)\(path)" + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
        guard !full.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }), let url = try? full.asURL(),
            url.host?.isEmpty == false
        else { throw Self.invalid(word) }
        try URLShorthand.checkPort(of: url, word)
        return (full, url, userInfo)
    }

    private static func invalid(_ word: String) -> UsageError {
        UsageError(message: "\"\(URLShorthand.withoutUserInfo(word).url)\" is not a URL")
    }

    /// The encoded name of the file of `-T`, which is added to a path that ends with a slash; `nil` for standard input.
    private var uploadName: String? {
        get throws {
            guard let path = content.upload, path != "-", path != "." else { return nil }
            let name = (path as NSString).lastPathComponent
            let encoded = String(decoding: CURLContent.percentEncoded(Array(name.utf8)), as: UTF8.self)
            return Self.lowerCase(encoded)
        }
    }

    /// Makes the percent-encodings of a URL lower-case, as curl does.
    private static func lowerCase(_ text: String) -> String { text.replacing(/%[0-9A-F]{2}/) { $0.0.lowercased() } }

    // MARK: Credentials

    /// Returns `USER:PASSWORD` for a URL, where both may be empty; `nil` without credentials.
    ///
    /// A netrc file takes precedence over the URL, unless the file is optional and the URL has a password.
    func credentials(for url: URL, ofURL own: String?) throws -> String? {
        guard let netrc, let host = url.host else { return own }
        let user = own.map { String($0.prefix { $0 != ":" }) }
        let hasPassword = own.map { $0.contains(":") && !$0.hasSuffix(":") } ?? false
        if netrc.isOptional, hasPassword { return own }
        return try netrc.credentials(forHost: host, user: netrc.isOptional || !hasPassword ? user : nil) ?? own
    }
}

/// Paths without `.` and `..` (RFC 3986 §5.2.4).
enum DotSegments {
    static func removed(from path: String) -> String {
        guard path.contains("/.") else { return path }
        var kept: [Substring] = []
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case ".": if isLast { kept.append("") }
            case "..":
                if !kept.isEmpty { kept.removeLast() }
                if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }
}
