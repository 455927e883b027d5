// Cookie files, as curl reads and writes them.

import CommandLanguage
import Fireweed
import Foundation
import Glibc

/// Reads and writes cookie files in Netscape's format, a line of seven fields for each cookie; reads `Set-Cookie` lines
/// too.
enum CURLCookieFile {
    /// Returns the cookies in a file; none if the file does not exist, as in curl.
    ///
    /// `Set-Cookie` lines are read as those of a response from `url`. `dropsSession` leaves out session cookies. Throws
    /// `UsageError` for a file that cannot be read.
    static func cookies(in path: String, for url: URL, dropsSession: Bool) throws -> [HTTPCookie] {
        guard !path.isEmpty, path == "-" || FileManager.default.fileExists(atPath: path) else { return [] }
        let found = try LocalFile.data(path).split(separator: 0x0A).flatMap { bytes -> [HTTPCookie] in
            // Any file may be given as a cookie file, so lines that cannot have a cookie are skipped before decoding.
            let maySetCookie = bytes.first.map { $0 | 0x20 } == UInt8(ascii: "s")
            guard bytes.count <= longestLine, maySetCookie || bytes.contains(0x09) else { return [] }
            let line = bytes.last == 0x0D ? bytes.dropLast() : bytes
            let text = String(decoding: line, as: UTF8.self)
            if text.lowercased().hasPrefix("set-cookie:") {
                let value = text.dropFirst("set-cookie:".count).trimmingCharacters(in: .whitespaces)
                return HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": value], for: url)
            }
            return cookie(ofLine: line).map { [$0] } ?? []
        }
        return dropsSession ? found.filter { $0.expiresDate != nil } : found
    }

    /// The longest line that is read, in bytes, as in curl; longer lines are skipped.
    private static let longestLine = 5_000

    /// Parses the seven fields of a line: domain, `TRUE` to include subdomains, path, `TRUE` for https only, expiry,
    /// name, value.
    ///
    /// `nil` for a comment, a malformed line and an expired cookie.
    private static func cookie(ofLine line: Data) -> HTTPCookie? {
        var line = line
        let isHTTPOnly = line.starts(with: httpOnlyPrefix.utf8)
        if isHTTPOnly { line = line.dropFirst(httpOnlyPrefix.utf8.count) }
        guard line.first != UInt8(ascii: "#") else { return nil }
        var bytes = line.split(separator: 0x09, omittingEmptySubsequences: false)
        if bytes.count == 6 { bytes.append(Data()) }
        guard bytes.count == 7 else { return nil }
        let cells = bytes[..<5].map { String(decoding: $0, as: UTF8.self) }
        let pair = [bytes[5], bytes[6]]
        let isText = pair.allSatisfy { String(validating: $0, as: UTF8.self) != nil }
        let texts = pair.map { bytes in
            isText ? String(decoding: bytes, as: UTF8.self) : String(bytes.map { Character(Unicode.Scalar($0)) })
        }
        let host = cells[0].hasPrefix(".") ? String(cells[0].dropFirst()) : cells[0]
        var properties: [HTTPCookiePropertyKey: Any] = [
            .domain: cells[1].uppercased() == "TRUE" ? ".\(host)" : host, .path: cells[2], .name: texts[0],
            .value: texts[1],
        ]
        if cells[3].uppercased() == "TRUE" { properties[.secure] = "TRUE" }
        if isHTTPOnly { properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE" }
        guard let expires = seconds(cells[4]) else { return nil }
        if expires != 0 {
            guard TimeInterval(expires) > Date().timeIntervalSince1970 else { return nil }
            properties[.expires] = Date(timeIntervalSince1970: TimeInterval(expires))
        }
        return HTTPCookie.make(properties, octets: isText ? nil : pair[0] + [UInt8(ascii: "=")] + pair[1])
    }

    private static let httpOnlyPrefix = "#HttpOnly_"

    /// Returns the whole number at the start of a text, limited to the end of the year 9999; `nil` without a number.
    ///
    /// Browsers write fractions, and curl writes numbers up to 2^63 - 1.
    private static func seconds(_ text: String) -> Int64? {
        let digits = text.prefix { $0.isASCII && $0.isNumber || $0 == "-" }
        return Int64(digits).map { min($0, 253_402_300_799) }
    }

    /// Writes cookies; `-` is standard output.
    ///
    /// A new file is the user's alone, and a file that is there keeps its mode.
    /// Throws what writing throws, and `OutputError` for a file that must not be written to.
    static func write(_ cookies: [HTTPCookie], to path: String) throws {
        let lines = cookies.map { cookie in
            let isForSubdomains = cookie.domain.hasPrefix(".")
            let cells = [
                (cookie.isHTTPOnly ? httpOnlyPrefix : "") + cookie.domain, isForSubdomains ? "TRUE" : "FALSE",
                cookie.path, cookie.isSecure ? "TRUE" : "FALSE",
                cookie.expiresDate.map { String(Int64(exactly: $0.timeIntervalSince1970.rounded()) ?? .max) } ?? "0",
            ]
            return cells.map { $0 + "\t" }.joined().utf8 + pair(cookie) + [0x0A]
        }
        let head = "# Netscape HTTP Cookie File\n# Written by fireweed.\n\n"
        let content = Data(head.utf8) + lines.sorted { $0.lexicographicallyPrecedes($1) }.joined()
        guard path != "-" else { return Terminal.writeContent(Array(content)) }
        let file = URL(fileURLWithPath: path)
        guard case .file(let present, let attributes) = try FileDestination(at: file) else {
            return try FileInstaller.writePrivately(content, to: file)
        }
        guard !attributes.isReadOnly, access(present, W_OK) == 0 else {
            throw OutputError(errorDescription: "the file is read-only")
        }
        try FileInstaller.writePrivately(content, to: file)
        // Others may share the jar.
        try FileManager.default.setAttributes([.posixPermissions: Int(attributes.mode)], ofItemAtPath: present)
    }

    /// Returns name, tab and value in the octets that the server has sent.
    private static func pair(_ cookie: HTTPCookie) -> [UInt8] {
        guard var octets = cookie.wireOctets.map(Array.init), let end = octets.firstIndex(of: UInt8(ascii: "=")) else {
            return Array("\(cookie.name)\t\(cookie.value)".utf8)
        }
        octets[end] = 0x09
        return octets
    }
}
