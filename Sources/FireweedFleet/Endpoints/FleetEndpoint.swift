// The address of the fleet's server, from a URL.

import FireweedTransport
import Foundation

/// The address of a server or of its sentinels, with the credentials.
struct FleetEndpoint: Sendable, Hashable {
    enum Route: Sendable, Hashable {
        case server(ByteConnector.Destination)
        /// Sentinels, which know the address of the primary of this name.
        case sentinels([ByteConnector.Destination], primary: String, isSecure: Bool)
    }

    let route: Route
    var user: String?
    var password: String?
    /// The user for the sentinels; the URL does not contain it.
    var sentinelUser: String?
    var sentinelPassword: String?
    var database = 0

    /// Reads `redis://`, `rediss://`, `redis+unix://`, `unix://`, `redis+sentinel://` and `rediss+sentinel://` URLs,
    /// also with `valkey` instead of `redis`; throws `FleetError.invalidURL`.
    init(_ text: String) throws(FleetError) {
        guard let mark = text.range(of: "://") else { throw .invalidURL(reason: "it has no scheme") }
        let scheme = text[..<mark.lowerBound].lowercased()
        let parts = text[mark.upperBound...].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let body = parts.first ?? ""
        let slash = body.firstIndex(of: "/") ?? body.endIndex
        var authority = body[..<slash]
        let path = body[slash...].dropFirst()
        if let at = authority.lastIndex(of: "@") {
            try Self.readUser(authority[..<at], into: &user, &password)
            authority = authority[authority.index(after: at)...]
        }
        var databaseText = String(path)
        switch scheme {
        case "redis", "valkey": route = .server(try Self.place(authority, defaultPort: 6379, isSecure: false))
        case "rediss", "valkeys": route = .server(try Self.place(authority, defaultPort: 6379, isSecure: true))
        case "redis+unix", "valkey+unix", "unix":
            guard let socket = body[slash...].removingPercentEncoding, socket.utf8.count > 1 else {
                throw .invalidURL(reason: "it has no path of a socket")
            }
            route = .server(.unixSocket(socket))
            databaseText = ""
        case "redis+sentinel", "rediss+sentinel", "valkey+sentinel", "valkeys+sentinel":
            let isSecure = scheme.hasPrefix("rediss") || scheme.hasPrefix("valkeys")
            var places: [ByteConnector.Destination] = []
            for host in authority.split(separator: ",") {
                places.append(try Self.place(host, defaultPort: 26379, isSecure: isSecure))
            }
            let names = path.split(separator: "/", maxSplits: 1)
            guard !places.isEmpty else { throw .invalidURL(reason: "it names no sentinel") }
            guard let primary = names.first?.removingPercentEncoding, !primary.isEmpty else {
                throw .invalidURL(reason: "it does not name the primary, as in redis+sentinel://host/primary")
            }
            route = .sentinels(places, primary: primary, isSecure: isSecure)
            databaseText = names.count > 1 ? String(names[1]) : ""
        default: throw .invalidURL(reason: "the scheme \(scheme) is none of redis, rediss, redis+unix, redis+sentinel")
        }
        try readDatabase(databaseText, query: parts.count > 1 ? parts[1] : "")
    }

    private mutating func readDatabase(_ path: String, query: Substring) throws(FleetError) {
        var text = path
        for item in query.split(separator: "&") {
            let pair = item.split(separator: "=", maxSplits: 1)
            guard pair.first == "db" else { throw .invalidURL(reason: "the parameter \(pair.first ?? "") is unknown") }
            text = pair.count > 1 ? String(pair[1]) : ""
        }
        guard !text.isEmpty else { return }
        guard let number = Int(text), number >= 0 else {
            throw .invalidURL(reason: "the database is no number")
        }
        database = number
    }

    private static func readUser(
        _ text: Substring, into user: inout String?, _ password: inout String?
    ) throws(FleetError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts.first?.removingPercentEncoding,
            let secret = parts.count > 1 ? parts[1].removingPercentEncoding : ""
        else { throw .invalidURL(reason: "the user or the password is not percent-encoded") }
        if parts.count > 1 {
            user = name.isEmpty ? nil : name
            password = secret
        } else {
            throw .invalidURL(reason: "a user without a password; a password alone is written as :password@")
        }
    }

    private static func place(
        _ text: Substring, defaultPort: UInt16, isSecure: Bool
    ) throws(FleetError) -> ByteConnector.Destination {
        var host = text
        var port = defaultPort
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { throw .invalidURL(reason: "the IPv6 address has no end") }
            host = text[text.index(after: text.startIndex)..<end]
            port = try number(text[text.index(after: end)...], default: defaultPort)
        } else if let colon = text.lastIndex(of: ":") {
            host = text[..<colon]
            port = try number(text[colon...], default: defaultPort)
        }
        let forbidden = Set("@/?#[]\\ ")
        guard !host.isEmpty, !host.contains(where: forbidden.contains) else {
            throw .invalidURL(reason: "it has no host")
        }
        return .host(String(host), port: port, isSecure: isSecure)
    }

    private static func number(_ text: Substring, default port: UInt16) throws(FleetError) -> UInt16 {
        guard text.count > 1 else { return port }
        guard text.first == ":", let number = UInt16(text.dropFirst()), number > 0 else {
            throw .invalidURL(reason: "the port is no number from 1 to 65535")
        }
        return number
    }
}
