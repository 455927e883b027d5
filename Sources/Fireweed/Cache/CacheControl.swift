// `Cache-Control`, of requests and of responses (RFC 9111 §5.2).

import Foundation

/// The directives of a `Cache-Control` field, as far as a private cache obeys them.
///
/// Names are compared without case, and arguments may be tokens or quoted strings (§5.2). What is meant to be a number and is
/// none makes a response stale (§4.2.1), and never makes a cache more generous. Of one that comes twice, the first counts.
struct CacheControl: Equatable, Sendable {
    /// How stale a response a request takes (§5.2.1.2).
    enum Staleness: Equatable, Sendable {
        /// However stale.
        case any
        /// Stale for so many seconds.
        case seconds(TimeInterval)
    }

    /// True when there is any directive, known or not.
    var isPresent = false
    var noStore = false
    /// Fields that `no-cache` names do not matter: it is taken as if it named none (§5.2.2.4).
    var noCache = false
    var isPublic = false
    var isPrivate = false
    var mustRevalidate = false
    var mustUnderstand = false
    /// RFC 8246.
    var isImmutable = false
    var onlyIfCached = false
    var maxAge: TimeInterval?
    var minFresh: TimeInterval?
    var maxStale: Staleness?
    /// RFC 5861 §4.
    var staleIfError: TimeInterval?
    /// RFC 5861 §3.
    var staleWhileRevalidate: TimeInterval?

    /// The greatest number of seconds that counts (§1.2.2).
    static let greatestDelta: TimeInterval = 2_147_483_648

    init() {}

    /// Reads the values of all `Cache-Control` fields, joined by commas.
    init(_ text: String?) {
        guard let text else { return }
        var scanner = DirectiveScanner(text)
        while let (name, argument) = scanner.next() {
            isPresent = true
            apply(name, argument)
        }
    }

    private mutating func apply(_ name: String, _ argument: String?) {
        switch name {
        case "no-store": noStore = true
        case "no-cache": noCache = true
        case "public": isPublic = true
        case "private": isPrivate = true
        case "must-revalidate": mustRevalidate = true
        case "must-understand": mustUnderstand = true
        case "immutable": isImmutable = true
        case "only-if-cached": onlyIfCached = true
        case "max-age": maxAge = maxAge ?? Self.delta(argument) ?? 0
        case "min-fresh": minFresh = minFresh ?? Self.delta(argument) ?? Self.greatestDelta
        case "max-stale": maxStale = maxStale ?? Self.staleness(argument)
        case "stale-if-error": staleIfError = staleIfError ?? Self.delta(argument)
        case "stale-while-revalidate": staleWhileRevalidate = staleWhileRevalidate ?? Self.delta(argument)
        default: break  // `s-maxage` and `proxy-revalidate` are for shared caches (§5.2.2.8, §5.2.2.10)
        }
    }

    private static func staleness(_ argument: String?) -> Staleness? {
        guard let argument else { return .any }
        return delta(argument).map { .seconds($0) }
    }

    /// Digits alone; whatever is too large is the greatest there is (§1.2.2).
    static func delta(_ text: String?) -> TimeInterval? {
        guard let text, !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return min(Int(text).map(TimeInterval.init) ?? greatestDelta, greatestDelta)
    }
}

/// Takes directives off a list, one by one: `name`, `name=token` or `name="quoted"`.
private struct DirectiveScanner {
    private var rest: Substring.UTF8View

    init(_ text: String) {
        rest = text[...].utf8
    }

    mutating func next() -> (name: String, argument: String?)? {
        rest = rest.drop { $0 == 0x2C || Self.isSpace($0) }
        guard !rest.isEmpty else { return nil }
        let name = rest.prefix { $0 != 0x2C && $0 != 0x3D && !Self.isSpace($0) }
        rest = rest[name.endIndex...].drop(while: Self.isSpace)
        guard rest.first == 0x3D else { return (Self.lowercased(name), nil) }
        rest = rest.dropFirst().drop(while: Self.isSpace)
        return (Self.lowercased(name), rest.first == 0x22 ? quoted() : token())
    }

    private mutating func token() -> String {
        let token = rest.prefix { $0 != 0x2C }
        rest = rest[token.endIndex...]
        return String(Substring(token)).trimmingCharacters(in: .whitespaces)
    }

    /// A quoted string; one without an end reaches to the end of the list.
    private mutating func quoted() -> String {
        var bytes: [UInt8] = []
        rest = rest.dropFirst()
        while let byte = rest.popFirst(), byte != 0x22 {
            bytes.append(byte == 0x5C ? rest.popFirst() ?? byte : byte)
        }
        rest = rest.drop { $0 != 0x2C }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09
    }

    private static func lowercased(_ name: Substring.UTF8View) -> String {
        String(decoding: name.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
