// The URL of a curl command.

import FireweedTransport
import Foundation

/// User and password of a command.
struct CURLLogin {
    let user: String
    let password: String
    /// User and password in the form of a URL's userinfo.
    let userinfo: String

    init(user: String, password: String, userinfo: String) {
        (self.user, self.password, self.userinfo) = (user, password, userinfo)
    }

    init(user: String, password: String) {
        let parts = [user, password].map {
            QueryText.escaped($0, keeping: QueryText.UnescapedCharacters(.alphanumerics))
        }
        self.init(user: user, password: password, userinfo: parts.joined(separator: ":"))
    }

    /// The URL with user and password in it.
    func added(to url: URL) -> URL {
        var text = url.absoluteString
        guard let start = text.range(of: "://")?.upperBound else { return url }
        text.insert(contentsOf: "\(userinfo)@", at: start)
        return URL(string: text) ?? url
    }
}

/// Reads a URL of a command line as curl does.
enum CURLTarget {
    /// Returns the URL, with `http` if the text has no scheme, and the URL's user and password separately.
    ///
    /// `keepsPath` leaves the dot segments in the path.
    ///
    /// Throws ``CURLParsingError/invalidURL(_:)`` for a pattern of several URLs, a scheme other than `http` and
    /// `https`, and a URL without a host.
    static func url(
        _ text: String, query: String?, isLiteral: Bool, keepsPath: Bool
    ) throws -> (url: URL, login: CURLLogin?) {
        guard var full = isLiteral ? text : withoutPatterns(text) else { throw CURLParsingError.invalidURL(text) }
        if !full.contains("://") { full = "http://\(full)" }
        if let query, !query.isEmpty {
            let end = full.firstIndex(of: "#") ?? full.endIndex
            full.insert(contentsOf: (full[..<end].contains("?") ? "&" : "?") + query, at: end)
        }
        let userinfo = Userinfo.split(full)
        guard var url = try? (userinfo?.url ?? full).asURL(), let scheme = url.scheme?.lowercased(),
            ["http", "https"].contains(scheme),
            url.host?.isEmpty == false
        else { throw CURLParsingError.invalidURL(text) }
        if !keepsPath, var parts = URLComponents(url: url, resolvingAgainstBaseURL: false),
            parts.percentEncodedPath.contains("/.")
        {
            parts.percentEncodedPath = URLParts.withoutDotSegments(parts.percentEncodedPath)
            url = parts.url ?? url
        }
        guard let userinfo, let start = full.range(of: "://")?.upperBound else { return (url, nil) }
        let written = full[start...].utf8.prefix(full.utf8.count - userinfo.url.utf8.count - 1)
        let login = CURLLogin(
            user: userinfo.user, password: userinfo.password, userinfo: String(decoding: written, as: UTF8.self))
        return (url, login)
    }

    /// The URL without the backslashes that browsers write before brackets and braces; `nil` if the URL has a pattern.
    ///
    /// The brackets of an IPv6 address are not a pattern.
    private static func withoutPatterns(_ text: String) -> String? {
        let authorityEnd = authority(of: text).upperBound
        var result = ""
        var isEscaped = false
        for index in text.indices {
            let character = text[index]
            if isEscaped {
                if !"[]{}".contains(character) { result.append("\\") }
                result.append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if "[]{}".contains(character), index >= authorityEnd || "{}".contains(character) {
                return nil
            } else {
                result.append(character)
            }
        }
        return isEscaped ? result + "\\" : result
    }

    private static func authority(of text: String) -> Range<String.Index> {
        let start = text.range(of: "://")?.upperBound ?? text.startIndex
        return start..<(text[start...].firstIndex { "/?#".contains($0) } ?? text.endIndex)
    }
}
