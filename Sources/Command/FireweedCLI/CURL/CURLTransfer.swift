// The requests of a curl command, up to a `--next`.

import CommandLanguage
import Fireweed
import Foundation

/// The options of a curl command that `Invocation` has no property for.
struct CURLTransfer: Sendable, Equatable {
    /// The destination of a URL's content.
    enum Output: Sendable, Equatable {
        case file(String), remoteName
    }

    var urls: [String] = []
    var method: String?
    var isHead = false
    var content = CURLContent()
    var sendsDataInQuery = false
    /// The values of `--url-query`, in their order.
    var query: [[UInt8]] = []
    var takesURLsLiterally = false
    var keepsPath = false
    var range: String?
    var timeCondition: String?
    var comparedTagFile: String?
    var savedTagFile: String?

    /// The lines of `-H`.
    var fieldLines: [String] = []
    /// `nil` for fireweed's default; empty for no `User-Agent`.
    var userAgent: String?
    var referer: String?
    /// Whether each message after a redirect gets the previous URL as its `Referer`.
    var updatesReferer = false
    /// Whether credentials are also sent to the hosts of redirects.
    var trustsRedirects = false
    /// The statuses of redirects after which a POST stays a POST.
    private(set) var statusesThatKeepPOST: Set<Int> = []
    var bearerToken: String?
    var waitsForChallenge = false
    var netrc: CURLNetrc?

    var cookies: [String] = []
    var cookieFiles: [String] = []
    var cookieJar: String?
    var dropsSessionCookies = false
    /// The cookies from the part of the command before a `--next`.
    var earlierCookies: [EarlierCookie] = []

    var proxyUser: String?
    /// `-k` in the command itself.
    var isInsecure = false
    /// The values of `--speed-limit` and `--speed-time`.
    var lowestSpeed: Int?
    var lowSpeedSeconds: Int?
    private var proxyText: String?
    /// The URL of a proxy, with user and password of `--proxy-user` if the URL has none; empty for `-x ''`,
    /// which disables proxies.
    var proxy: String? {
        get {
            proxyText.map { text in
                text.isEmpty ? text : proxyUser.map { CURLProxy.adding(user: $0, to: text) } ?? text
            }
        }
        set { proxyText = newValue }
    }

    /// Whether the content of a status of 400 or more is not printed (`-f`).
    var hidesFailures = false
    /// Whether nothing is printed on standard error (`-s`), except failures with `-S`.
    var isSilent = false
    var showsErrors = false
    /// Whether the progress of a download may be drawn (`--progress-meter`).
    var showsMeter = true

    /// The outputs of `-o` and `-O`: the first for the first URL, and so on.
    var outputs: [Output] = []
    var namesAllByURL = false
    var takesNameOfResponse = false
    var outputFolder: String?
    var createsFolders = false
    var replacesFiles = true
    /// The value of `-C`: `-`, or the number of bytes to skip.
    var offset: String?
    var headFile: String?
    /// Whether heads are written before the content, to the same output.
    var includesHeads = false
    /// Whether a proxy's heads for CONNECT are left out of the output and of the file of heads.
    var hidesTunnelHeads = false
    /// Whether the heads go to standard error, as with curl's `-v`; fireweed's own `-v` is different.
    var isVerbose = false
    /// Whether content codings are offered, and decoded on receipt (`--compressed`).
    var asksForCodings = false

    /// Whether cookies of responses are kept: curl does so only with a cookie file or a cookie jar.
    var keepsCookies: Bool { !cookieFiles.isEmpty || cookieJar != nil }

    mutating func setReferer(_ text: String) {
        updatesReferer = text.hasSuffix(";auto")
        let own = updatesReferer ? String(text.dropLast(5)) : text
        referer = own.isEmpty ? nil : own
    }

    /// The method of the first message.
    var effectiveMethod: String {
        if let method { return method }
        if isHead { return "HEAD" }
        if content.upload != nil { return "PUT" }
        return content.isEmpty || sendsDataInQuery ? "GET" : "POST"
    }

    mutating func keepPOST(after status: Int, _ isOn: Bool) {
        if isOn { statusesThatKeepPOST.insert(status) } else { statusesThatKeepPOST.remove(status) }
    }

    /// Splits this transfer: with `-T` into one for each file and URL, with `-C` into one for each URL; otherwise
    /// returns only this transfer.
    ///
    /// The first file is for the first URL, and so on; a URL without a file is fetched. Braces and brackets in a file's
    /// name stand for several files. Throws `UsageError` for a file without a URL.
    func parts() throws -> [CURLTransfer] {
        // With `-C`, the file of each URL has its own offset.
        if offset != nil, content.uploads.isEmpty, urls.count > 1 {
            return urls.enumerated().map { index, url in
                var part = self
                part.urls = [url]
                part.outputs = index < outputs.count ? [outputs[index]] : []
                return part
            }
        }
        let names = try content.uploads.map { name -> [String] in
            let pattern = takesURLsLiterally ? URLGlob(literal: name) : try URLGlob(name, asCURL: true)
            return pattern.count > 1 ? (0..<pattern.count).map { pattern.url(at: $0).text } : [name]
        }
        guard let first = names.first, first.count > 1 || urls.count > 1 || names.count > 1 else { return [self] }
        guard names.count <= urls.count else {
            throw UsageError(message: "the curl command has no URL for -T \(content.uploads[urls.count])")
        }
        return urls.enumerated().flatMap { index, url in
            let files: [String?] = index < names.count ? names[index] : [nil]
            return files.map { file in
                var part = self
                part.urls = [url]
                part.content.uploads = file.map { [$0] } ?? []
                part.outputs = index < outputs.count ? [outputs[index]] : []
                return part
            }
        }
    }

    // MARK: Files

    /// Returns the output file of a URL; `nil` for standard output; throws `UsageError` if `-O` finds no name.
    func file(ofURL number: Int, _ url: String) throws -> String? {
        let output = number < outputs.count ? outputs[number] : namesAllByURL ? .remoteName : nil
        let name: String
        switch output {
        case nil, .file("-"): return nil
        case .file(let file): name = file
        case .remoteName:
            let path = CURLScheme.end(of: url).map { url[$0.upperBound...] } ?? url[...]
            let whole = path.prefix { $0 != "?" && $0 != "#" }
            guard let slash = whole.lastIndex(of: "/"), whole.index(after: slash) < whole.endIndex else {
                if isNamedByResponse(number) { return nil }
                throw UsageError(message: "-O of the curl command has no name: the path of \(url) names no file")
            }
            name = String(whole[whole.index(after: slash)...])
        }
        return outputFolder.map { ($0 as NSString).appendingPathComponent(name) } ?? name
    }

    /// The condition of `-z`; `nil` if only a part of a document is asked for.
    var wholeTimeCondition: CURLTimeCondition? {
        guard offset == nil, range == nil else { return nil }
        return timeCondition.flatMap { CURLTimeCondition($0) }
    }

    /// Whether the response names the file of a URL.
    func isNamedByResponse(_ number: Int) -> Bool {
        guard takesNameOfResponse, offset == nil else { return false }
        return (number < outputs.count ? outputs[number] : namesAllByURL ? .remoteName : nil) == .remoteName
    }
}

/// The schemes of URLs, as curl finds them.
enum CURLScheme {
    /// Returns the range of the `://` after the scheme of a text; `nil` for a text without a scheme, even if its query
    /// has a URL.
    static func end(of text: String) -> Range<String.Index>? {
        guard let end = text.firstRange(of: "://") else { return nil }
        let isScheme = text[..<end.lowerBound].allSatisfy {
            $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0))
        }
        return isScheme ? end : nil
    }
}

/// Proxies as curl writes them.
enum CURLProxy {
    /// Returns the URL of a proxy, by default with `scheme` and port 1080, or 443 for https; empty for an empty text.
    static func url(_ text: String, scheme: String) -> String {
        guard !text.isEmpty else { return "" }
        let full = CURLScheme.end(of: text) != nil ? text : "\(scheme)://\(text)"
        let start = CURLScheme.end(of: full)?.upperBound ?? full.startIndex
        let authority = full[start...].prefix { $0 != "/" }
        let place = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        let host = place.lastIndex(of: "]").map { place[$0...] } ?? place
        if host.contains(":") { return full }
        let port = full.lowercased().hasPrefix("https:") ? 443 : 1080
        return "\(full[..<start])\(authority):\(port)\(full[authority.endIndex...])"
    }

    /// Adds a user and a password to a proxy's URL that has none.
    static func adding(user: String, to proxy: String) -> String {
        let start = CURLScheme.end(of: proxy)?.upperBound ?? proxy.startIndex
        guard !proxy[start...].contains("@") else { return proxy }
        let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            .map { $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "" }
        return "\(proxy[..<start])\(parts.joined(separator: ":"))@\(proxy[start...])"
    }
}
