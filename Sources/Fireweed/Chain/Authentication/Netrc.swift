// Credentials from a `.netrc` file.

import FireweedTransport
public import Foundation
import Glibc

/// The entries of a `.netrc` file, for sessions that are made with it.
///
/// User and password are sent with the first message to a host, as Basic and without a challenge, as curl does: over
/// `http` in clear text. An entry is for a host, whatever the scheme and the port; after a redirect, the entry of the
/// new host is sent.
///
/// ```swift
/// let session = Session(options: SessionOptions(netrc: try Netrc.ofUser()))
/// ```
public struct Netrc: Sendable, Equatable {
    /// The credentials for one host, or for all hosts without an entry.
    public struct Entry: Sendable, Equatable {
        /// The host; `nil` for the `default` entry.
        public var machine: String?
        /// The user.
        public var login: String?
        /// The password.
        public var password: String?

        /// Makes an entry.
        ///
        /// - Parameters:
        ///   - machine: the host; `nil`, the default, makes the `default` entry.
        ///   - login: the user; `nil`, the default, for none.
        ///   - password: the password; `nil`, the default, for none.
        public init(machine: String? = nil, login: String? = nil, password: String? = nil) {
            self.machine = machine
            self.login = login
            self.password = password
        }
    }

    /// The entries in the order of the file.
    public let entries: [Entry]

    /// Reads the text of a file; throws `NetrcError.syntax`.
    ///
    /// Words are separated by white space, or are in double quotes, where a backslash escapes the next character. The
    /// keywords are `machine`, `default`, `login`, `password`, `account` and `port` (both without effect), and
    /// `macdef`, whose text up to the next empty line is skipped. Other words instead of a keyword are skipped, as by
    /// curl. `#` instead of a keyword begins a comment.
    public init(_ text: String) throws {
        var parser = NetrcParser(text)
        entries = try parser.entries()
    }

    /// Reads a regular file; throws ``NetrcError``.
    public init(contentsOf url: URL) throws {
        let text: String
        do {
            text = String(decoding: try FileContent.read(url), as: UTF8.self)
        } catch {
            throw NetrcError.unreadable(url, underlying: error)
        }
        try self.init(text)
    }

    /// Reads the user's file: the path in the environment variable `NETRC`, else `~/.netrc`; throws ``NetrcError``.
    ///
    /// `~` is the environment variable `HOME`; when `HOME` is missing or empty, it is the home folder of the account.
    public static func ofUser() throws -> Netrc {
        let environment = ProcessInfo.processInfo.environment
        if let path = environment["NETRC"], !path.isEmpty { return try Netrc(contentsOf: URL(fileURLWithPath: path)) }
        return try Netrc(contentsOf: home(environment["HOME"]).appendingPathComponent(".netrc"))
    }

    private static func home(_ path: String?) -> URL {
        if let path, !path.isEmpty { return URL(fileURLWithPath: path) }
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var room = [CChar](repeating: 0, count: 16 * 1024)
        guard getpwuid_r(geteuid(), &entry, &room, room.count, &found) == 0, found != nil, let home = entry.pw_dir
        else {
            return URL(fileURLWithPath: "/")
        }
        return URL(fileURLWithPath: String(cString: home))
    }

    /// The first entry for a host, or the `default` entry if it comes first.
    ///
    /// Hosts are compared in canonical form: case does not matter, and a name in Unicode equals the same name in
    /// A-labels. A name with a trailing dot is another host, since it may be another machine.
    public func entry(forHost host: String) -> Entry? {
        let host = CanonicalHost.identity(of: host)
        return entries.first { entry in entry.machine.map { CanonicalHost.identity(of: $0) == host } ?? true }
    }
}

extension Netrc.Entry: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The host, without user and password.
    public var description: String { machine.map { "machine \($0)" } ?? "default" }

    /// The description.
    public var debugDescription: String { description }

    /// No children, so that `dump` does not show the password.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Why a `.netrc` file could not be used.
public enum NetrcError: Error, Sendable {
    /// The file could not be read.
    case unreadable(URL, underlying: any Error)
    /// This line, counted from 1, has a syntax error; the error has no text of the file.
    case syntax(line: Int)
}

extension NetrcError: LocalizedError {
    /// A sentence with the file or the line.
    public var errorDescription: String? {
        switch self {
        case .unreadable(let url, _): "The netrc file \(url.path) cannot be read."
        case .syntax(let line): "Line \(line) of the netrc file is not understood."
        }
    }
}

/// Reads word after word, scalar by scalar: in a `Character`, a combining mark would hide a quote.
private struct NetrcParser {
    private let scalars: [Unicode.Scalar]
    private var position = 0
    private var line = 1

    init(_ text: String) {
        // A line may end in CRLF, or in CR.
        var scalars: [Unicode.Scalar] = []
        var previous: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            // Editors of other systems begin a file with a byte order mark.
            if previous == nil, scalar == "\u{FEFF}" { continue }
            if scalar != "\n" || previous != "\r" { scalars.append(scalar == "\r" ? "\n" : scalar) }
            previous = scalar
        }
        self.scalars = scalars
    }

    mutating func entries() throws -> [Netrc.Entry] {
        var entries: [Netrc.Entry] = []
        while let keyword = try word(isKeyword: true) {
            switch keyword.lowercased() {
            case "machine": entries.append(Netrc.Entry(machine: try value()))
            case "default": entries.append(Netrc.Entry())
            case "login": try set(\.login, in: &entries)
            case "password": try set(\.password, in: &entries)
            case "account", "port": _ = try value()
            case "macdef":
                _ = try value()
                skipMacro()
            default: continue  // curl, too, skips words that it does not know
            }
        }
        return entries
    }

    private mutating func set(_ member: WritableKeyPath<Netrc.Entry, String?>, in entries: inout [Netrc.Entry]) throws {
        let text = try value()
        guard let last = entries.indices.last else { throw NetrcError.syntax(line: line) }
        entries[last][keyPath: member] = text
    }

    private mutating func value() throws -> String {
        let keywordLine = line
        guard let value = try word(isKeyword: false) else { throw NetrcError.syntax(line: keywordLine) }
        return value
    }

    private mutating func word(isKeyword: Bool) throws -> String? {
        skipSpace()
        while isKeyword, position < scalars.count, scalars[position] == "#" {
            while position < scalars.count, scalars[position] != "\n" { position += 1 }
            skipSpace()
        }
        guard position < scalars.count else { return nil }
        if scalars[position] == "\"" { return try quoted() }
        let start = position
        while position < scalars.count, !scalars[position].properties.isWhitespace { position += 1 }
        return String(String.UnicodeScalarView(scalars[start..<position]))
    }

    private mutating func quoted() throws -> String {
        position += 1
        var text = String.UnicodeScalarView()
        while position < scalars.count, scalars[position] != "\n" {
            let scalar = scalars[position]
            position += 1
            switch scalar {
            case "\"": return String(text)
            case "\\":
                guard position < scalars.count, scalars[position] != "\n" else { break }
                text.append(Self.escapes[scalars[position]] ?? scalars[position])
                position += 1
            default: text.append(scalar)
            }
        }
        throw NetrcError.syntax(line: line)
    }

    private static let escapes: [Unicode.Scalar: Unicode.Scalar] = ["n": "\n", "r": "\r", "t": "\t"]

    private mutating func skipSpace() {
        while position < scalars.count, scalars[position].properties.isWhitespace { advance() }
    }

    /// Skips to the end of the first empty line.
    private mutating func skipMacro() {
        while position < scalars.count {
            let isEmptyLine = scalars[position] == "\n" && (position > 0 && scalars[position - 1] == "\n")
            advance()
            if isEmptyLine { return }
        }
    }

    private mutating func advance() {
        if scalars[position] == "\n" { line += 1 }
        position += 1
    }
}
