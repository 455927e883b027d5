// The names of parameters and fields whose values are secrets.

import Foundation

/// Finds listed names in the names of parameters and fields, word by word.
///
/// A new word begins where lower case changes to upper case, at the last capital of a run (`HTTPToken`), and after
/// every character that is not a letter. `accessToken`, `ACCESS_TOKEN2` and `user[access-token]` all contain the words
/// `access` and `token`.
package struct SecretNames: Sendable {
    /// The words of each listed name, joined by underscores, and also joined without them, as in `accesstoken`.
    private let names: WordTable
    private let longestPartCount: Int

    package init(_ names: Set<String>) {
        let listed = names.map { NameWords($0).bytes }.filter { !$0.isEmpty }
        self.names = WordTable(listed + listed.map { $0.filter { !NameWords.isSeparator($0) } })
        longestPartCount = listed.map { $0.count(where: NameWords.isSeparator) + 1 }.max() ?? 0
    }

    /// Whether a name contains all words of a listed name, in order, with no other words between them.
    package func isPart(of name: String) -> Bool { isPart(of: NameWords(name)) }

    private func isPart(of words: NameWords) -> Bool {
        let bytes = words.bytes
        var start = 0
        while start < bytes.count {
            var (hash, partCount, next) = (WordTable.seed, 0, bytes.count)
            for index in start...bytes.count {
                if index == bytes.count || NameWords.isSeparator(bytes[index]) {
                    if partCount == 0 { next = index + 1 }
                    partCount += 1
                    if names.contains(bytes[start..<index], hash: hash) { return true }
                    if partCount == longestPartCount { break }
                }
                if index < bytes.count { hash = WordTable.hash(after: hash, bytes[index]) }
            }
            start = next
        }
        return false
    }

    /// Whether a listed name equals this name, the text in one of its brackets, or one of its parts between dots.
    package func isWhole(_ name: String) -> Bool { isWhole(NameWords(name), from: 0) }

    private func isWhole(_ words: NameWords, from start: Int) -> Bool {
        words.bytes[start...].split(separator: NameWords.segmentEnd).contains {
            names.contains($0, hash: $0.reduce(WordTable.seed, WordTable.hash))
        }
    }
}

/// The words of a name, in lower case.
private struct NameWords {
    /// The words, separated by an underscore, or by a dot where the name has a bracket or a dot.
    private(set) var bytes: [UInt8] = []

    static let wordEnd = UInt8(ascii: "_")
    static let segmentEnd = UInt8(ascii: ".")
    static func isSeparator(_ byte: UInt8) -> Bool { byte == wordEnd || byte == segmentEnd }

    init(_ name: String) {
        bytes.reserveCapacity(name.utf8.count * 2)
        var separator: UInt8?
        var wasUpper = false
        var scalars = name.unicodeScalars.makeIterator()
        var next = scalars.next()
        while let scalar = next {
            next = scalars.next()
            let isUpper = scalar.isUpper
            guard isUpper || scalar.isLetter else {
                if separator != Self.segmentEnd {
                    separator = "[].".unicodeScalars.contains(scalar) ? Self.segmentEnd : Self.wordEnd
                }
                wasUpper = false
                continue
            }
            // A word begins at a capital after a lower-case letter (`authToken`), and at the last capital of a run if a
            // lower-case letter follows (`HTTPToken`).
            if isUpper, !wasUpper || next?.isLower == true { separator = separator ?? Self.wordEnd }
            if let end = separator.take(), !bytes.isEmpty { bytes.append(end) }
            if scalar.isASCII {
                bytes.append(UInt8(truncatingIfNeeded: scalar.value) | 0x20)
            } else {
                bytes.append(contentsOf: scalar.properties.lowercaseMapping.utf8)
            }
            wasUpper = isUpper
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isUpper: Bool { isASCII ? (0x41...0x5A).contains(value) : properties.isUppercase }
    fileprivate var isLower: Bool { isASCII ? (0x61...0x7A).contains(value) : properties.isLowercase }
    fileprivate var isLetter: Bool { isASCII ? isUpper || isLower : properties.isAlphabetic }
}

/// A hash set of word sequences; the hash can be updated byte by byte.
private struct WordTable: Sendable {
    private var slots: [[UInt8]]
    private let mask: Int

    static let seed: UInt64 = 0xcbf2_9ce4_8422_2325

    /// FNV-1a suffices: the names in the table are short, and attackers do not choose them.
    static func hash(after hash: UInt64, _ byte: UInt8) -> UInt64 {
        (hash ^ UInt64(byte == NameWords.segmentEnd ? NameWords.wordEnd : byte)) &* 0x100_0000_01b3
    }

    init(_ words: [[UInt8]]) {
        var size = 16
        while size < 4 * words.count { size *= 2 }
        mask = size - 1
        slots = Array(repeating: [], count: size)
        for word in words where !word.isEmpty {
            var slot = Self.slot(word.reduce(Self.seed, Self.hash)) & mask
            while !slots[slot].isEmpty { slot = (slot + 1) & mask }
            slots[slot] = word
        }
    }

    private static func slot(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> 32) }

    func contains(_ words: ArraySlice<UInt8>, hash: UInt64) -> Bool {
        var slot = Self.slot(hash) & mask
        while !slots[slot].isEmpty {
            if slots[slot].elementsEqual(words, by: Self.areEqual) { return true }
            slot = (slot + 1) & mask
        }
        return false
    }

    private static func areEqual(_ left: UInt8, _ right: UInt8) -> Bool {
        left == right || NameWords.isSeparator(left) && NameWords.isSeparator(right)
    }
}

extension SecretNames {
    /// Whether a field name contains one of `parts`, or is one of `wholes` when a leading `X-` is removed.
    package static func isSecret(field name: String, parts: SecretNames, wholes: SecretNames) -> Bool {
        let words = NameWords(name)
        if parts.isPart(of: words) { return true }
        let isPrefixed = name.utf8.count > 2 && name.utf8.prefix(2).elementsEqual("x-".utf8) { $0 | 0x20 == $1 | 0x20 }
        return wholes.isWhole(words, from: isPrefixed ? min(2, words.bytes.count) : 0)
    }

    /// Names that make a parameter or field secret wherever they occur in its name.
    package static let standardParts: Set<String> = [
        "access_key", "access_token", "account_key", "api_key", "assertion", "auth_code", "auth_key", "auth_token",
        "auth_user", "authorization", "bearer", "client_secret", "code_verifier", "credential", "credentials", "csrf",
        "csrfmiddlewaretoken", "csrftoken", "cvc", "cvv", "device_code", "encryption_key", "functions_key", "id_token",
        "jsessionid", "jwt", "key_pair_id", "license_key", "master_key", "otp", "passcode", "passphrase", "passwd",
        "password", "passwords", "phpsessid", "private_key", "pwd", "rapidapi_key", "refresh_token", "saml_request",
        "saml_response", "secret", "secret_key", "secrets", "security_code", "session_id", "session_key",
        "session_token", "sid", "signature", "signing_key", "subscription_key", "ticket", "token", "totp",
        "verification_code", "xsrf", "xsrftoken", "xtoken",
    ]

    /// Names that make a parameter or field secret only as its whole name.
    package static let standardWholes: Set<String> = [
        "auth", "code", "cookie", "hmac", "key", "nonce", "pass", "pat", "pin", "policy", "pw", "session", "sig",
        "state",
    ]
}
