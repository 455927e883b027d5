// Cookie files, as curl reads and writes them.

import CommandLanguage
import Fireweed
import Foundation

/// Netscape's format, a line of seven fields for each cookie; or lines of `Set-Cookie`.
enum CURLCookieFile {
    /// The cookies in a file; none if no file exists, as with curl.
    ///
    /// `Set-Cookie` lines are read as those of a response from `url`. `dropsSession` leaves out session cookies. Throws
    /// `UsageError` for a file that cannot be read.
    static func cookies(in path: String, for url: URL, dropsSession: Bool) throws -> [HTTPCookie] {
        guard !path.isEmpty, path == "-" || FileManager.default.fileExists(atPath: path) else { return [] }
        let found = try LocalFile.data(path).split(separator: 0x0A).flatMap { bytes -> [HTTPCookie] in
            // Anything may be given as a cookie file: other lines are passed over as bytes.
            let maySetCookie = bytes.first.map { $0 | 0x20 } == UInt8(ascii: "s")
            guard bytes.count <= longestLine, maySetCookie || bytes.contains(0x09) else { return [] }
            let text = String(decoding: bytes.last == 0x0D ? bytes.dropLast() : bytes, as: UTF8.self)
            let line = text[...]
            if line.lowercased().hasPrefix("set-cookie:") {
                let value = line.dropFirst("set-cookie:".count).trimmingCharacters(in: .whitespaces)
                return HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": value], for: url)
            }
            return cookie(ofLine: line).map { [$0] } ?? []
        }
        return dropsSession ? found.filter { $0.expiresDate != nil } : found
    }

    /// The most bytes of a line, as in curl.
    private static let longestLine = 5_000

    /// `domain  TRUE for subdomains too  path  TRUE for https alone  expires  name  value`.
    private static func cookie(ofLine line: Substring) -> HTTPCookie? {
        var line = line
        let isHTTPOnly = line.hasPrefix("#HttpOnly_")
        if isHTTPOnly { line = line.dropFirst("#HttpOnly_".count) }
        guard !line.hasPrefix("#") else { return nil }
        var cells = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        if cells.count == 6 { cells.append("") }
        guard cells.count == 7 else { return nil }
        let host = cells[0].hasPrefix(".") ? String(cells[0].dropFirst()) : cells[0]
        var properties: [HTTPCookiePropertyKey: Any] = [
            .domain: cells[1].uppercased() == "TRUE" ? ".\(host)" : host, .path: cells[2], .name: cells[5],
            .value: cells[6],
        ]
        if cells[3].uppercased() == "TRUE" { properties[.secure] = "TRUE" }
        if isHTTPOnly { properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE" }
        guard let expires = Double(cells[4]) else { return nil }
        if expires > 0 {
            guard expires > Date().timeIntervalSince1970 else { return nil }
            properties[.expires] = Date(timeIntervalSince1970: expires)
        }
        return HTTPCookie.make(properties, octets: nil)
    }

    /// Writes cookies; `-` is standard output.
    ///
    /// Throws what writing throws.
    static func write(_ cookies: [HTTPCookie], to path: String) throws {
        let lines = cookies.map { cookie in
            let isForSubdomains = cookie.domain.hasPrefix(".")
            let cells = [
                (cookie.isHTTPOnly ? "#HttpOnly_" : "") + cookie.domain, isForSubdomains ? "TRUE" : "FALSE",
                cookie.path, cookie.isSecure ? "TRUE" : "FALSE",
                cookie.expiresDate.map { String(Int64($0.timeIntervalSince1970)) } ?? "0", cookie.name, cookie.value,
            ]
            return cells.joined(separator: "\t") + "\n"
        }
        let text = "# Netscape HTTP Cookie File\n# Written by fireweed.\n\n" + lines.sorted().joined()
        guard path != "-" else { return Terminal.writeContent(text) }
        try FileInstaller.writePrivately(Data(text.utf8), to: URL(fileURLWithPath: path))
    }
}
