// `Cache-Control`, of requests and of responses (RFC 9111 §5.2).

package import Foundation

/// The directives of a `Cache-Control` field that a private cache obeys.
///
/// Names are compared without case, and arguments may be tokens or quoted strings (§5.2). An invalid number never lets
/// the cache use more responses; as `max-age` of a response, it makes the response stale (§4.2.1). If a directive comes
/// twice, the first counts.
package struct CacheControl: Equatable, Sendable {
    /// How stale a response may be for a request (§5.2.1.2).
    package enum Staleness: Equatable, Sendable {
        /// Any staleness.
        case any
        /// Stale for at most this many seconds.
        case seconds(TimeInterval)
    }

    /// Whether there is any directive, known or not.
    package var isPresent = false
    package var noStore = false
    /// `no-cache`, with or without field names: the names are ignored (§5.2.2.4).
    package var noCache = false
    package var isPublic = false
    package var isPrivate = false
    package var mustRevalidate = false
    package var mustUnderstand = false
    /// `immutable` (RFC 8246).
    package var isImmutable = false
    package var onlyIfCached = false
    package var maxAge: TimeInterval?
    package var minFresh: TimeInterval?
    package var maxStale: Staleness?
    /// `stale-if-error`, in seconds (RFC 5861 §4).
    package var staleIfError: TimeInterval?
    /// `stale-while-revalidate`, in seconds (RFC 5861 §3).
    package var staleWhileRevalidate: TimeInterval?

    /// The greatest number of seconds; a larger number is reduced to this one (§1.2.2).
    package static let greatestDelta: TimeInterval = 2_147_483_648

    package init() {}

    /// Reads the values of all `Cache-Control` fields, joined by commas.
    package init(_ text: String?) {
        guard var text else { return }
        text.withUTF8 { bytes in
            var scanner = DirectiveScanner(rest: bytes[...])
            while let (name, argument) = scanner.next() {
                isPresent = true
                apply(name, argument)
            }
        }
    }

    private mutating func apply(_ name: DirectiveScanner.Bytes, _ argument: String?) {
        switch Name(name) {
        case .noStore: noStore = true
        case .noCache: noCache = true
        case .public: isPublic = true
        case .private: isPrivate = true
        case .mustRevalidate: mustRevalidate = true
        case .mustUnderstand: mustUnderstand = true
        case .immutable: isImmutable = true
        case .onlyIfCached: onlyIfCached = true
        case .maxAge: maxAge = maxAge ?? Self.delta(argument) ?? 0
        case .minFresh: minFresh = minFresh ?? Self.delta(argument) ?? Self.greatestDelta
        case .maxStale: maxStale = maxStale ?? Self.staleness(argument)
        case .staleIfError: staleIfError = staleIfError ?? Self.delta(argument)
        case .staleWhileRevalidate: staleWhileRevalidate = staleWhileRevalidate ?? Self.delta(argument)
        case nil: break  // `s-maxage` and `proxy-revalidate` are for shared caches (§5.2.2.8, §5.2.2.10)
        }
    }

    /// The directives that this cache obeys.
    private enum Name: String, CaseIterable {
        case noStore = "no-store"
        case noCache = "no-cache"
        case `public`, `private`
        case mustRevalidate = "must-revalidate"
        case mustUnderstand = "must-understand"
        case immutable
        case onlyIfCached = "only-if-cached"
        case maxAge = "max-age"
        case minFresh = "min-fresh"
        case maxStale = "max-stale"
        case staleIfError = "stale-if-error"
        case staleWhileRevalidate = "stale-while-revalidate"

        private static let all = allCases.map { (name: $0, bytes: Array($0.rawValue.utf8)) }

        /// Finds a directive by the bytes of its name, without a string: this runs for every response that the cache
        /// answers with.
        init?(_ name: DirectiveScanner.Bytes) {
            let found = Self.all.first { candidate in
                candidate.bytes.count == name.count
                    && zip(candidate.bytes, name).allSatisfy { $0 == $1 || ($0 ^ $1 == 0x20 && $0 & 0x40 != 0) }
            }
            guard let found else { return nil }
            self = found.name
        }
    }

    private static func staleness(_ argument: String?) -> Staleness? {
        guard let argument else { return .any }
        return delta(argument).map { .seconds($0) }
    }

    /// Reads a number of seconds: digits only; a number that is too large becomes the greatest one (§1.2.2).
    static func delta(_ text: String?) -> TimeInterval? {
        guard let text, !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return min(Int(text).map(TimeInterval.init) ?? greatestDelta, greatestDelta)
    }
}

/// Reads the directives of a list, one by one: `name`, `name=token` or `name="quoted"`.
private struct DirectiveScanner {
    typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    var rest: Bytes

    mutating func next() -> (name: Bytes, argument: String?)? {
        rest = rest.drop { $0 == 0x2C || Self.isSpace($0) }
        guard !rest.isEmpty else { return nil }
        let name = rest.prefix { $0 != 0x2C && $0 != 0x3D && !Self.isSpace($0) }
        rest = rest[name.endIndex...]
        var hasSpace = skipSpace()
        guard rest.first == 0x3D else { return (name, nil) }
        rest = rest.dropFirst()
        if skipSpace() { hasSpace = true }
        let argument = rest.first == 0x22 ? quoted() : token()
        // The grammar has no white space around "=": the argument of `max-age = 60` is not a number.
        return (name, hasSpace ? "" : argument)
    }

    private mutating func skipSpace() -> Bool {
        let start = rest.startIndex
        rest = rest.drop(while: Self.isSpace)
        return rest.startIndex != start
    }

    private mutating func token() -> String {
        var token = rest.prefix { $0 != 0x2C }
        rest = rest[token.endIndex...]
        while let last = token.last, Self.isSpace(last) { token = token.dropLast() }
        return String(decoding: token, as: UTF8.self)
    }

    /// Reads a quoted string; without a closing quote the string extends to the end of the list.
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
}
