// Names of parameters and fields whose values are secrets.

import Foundation

/// Finds listed names in the names of parameters and fields; both are compared by their parts.
///
/// A name has a part for each word: words begin at a change of case, and after every character that is not a letter.
/// `accessToken`, `ACCESS_TOKEN2` and `user[access-token]` all have the parts `access` and `token`.
package struct SecretNames: Sendable {
    /// The parts of each listed name, joined by a low line; also without anything between them, as in `accesstoken`.
    private let names: Set<String>
    private let longestPartCount: Int

    package init(_ names: Set<String>) {
        let listed = names.map(Self.parts).filter { !$0.isEmpty }
        self.names = Set(listed.map { $0.joined(separator: "_") } + listed.map { $0.joined() })
        longestPartCount = listed.map(\.count).max() ?? 0
    }

    /// Whether this name has the parts of a listed name, in order and without others between them.
    package func isPart(of name: String) -> Bool {
        let parts = Self.parts(name)
        return parts.indices.contains { start in
            let end = min(parts.count, start + longestPartCount)
            return (start..<end).contains { names.contains(parts[start...$0].joined(separator: "_")) }
        }
    }

    /// Whether this name, or the content of one of its brackets, or one of its components between dots, is a listed
    /// name.
    package func isWhole(_ name: String) -> Bool {
        name.unicodeScalars.split { "[].".unicodeScalars.contains($0) }.contains {
            names.contains(Self.parts(String($0)).joined(separator: "_"))
        }
    }

    /// The words of a name, in lower case.
    static func parts(_ name: String) -> [String] {
        var parts: [String] = []
        var part = String.UnicodeScalarView()
        let scalars = Array(name.unicodeScalars)
        for (index, scalar) in scalars.enumerated() {
            guard scalar.properties.isAlphabetic else {
                take(&part, &parts)
                continue
            }
            let isUpper = scalar.properties.isUppercase
            let previous = index > 0 ? scalars[index - 1].properties.isUppercase : false
            // `authToken`, and the last capital of `HTTPToken`.
            let endsAcronym = index + 1 < scalars.count && scalars[index + 1].properties.isLowercase
            if isUpper, !previous || endsAcronym { take(&part, &parts) }
            part.append(scalar)
        }
        take(&part, &parts)
        return parts
    }

    private static func take(_ part: inout String.UnicodeScalarView, _ parts: inout [String]) {
        if !part.isEmpty { parts.append(String(part).lowercased()) }
        part = String.UnicodeScalarView()
    }
}

extension SecretNames {
    /// Whether the name of a field has one of `parts` in it, or is one of `wholes`, apart from `X-` in front of it.
    package static func isSecret(field name: String, parts: SecretNames, wholes: SecretNames) -> Bool {
        if parts.isPart(of: name) { return true }
        let isPrefixed = name.count > 2 && name.lowercased().hasPrefix("x-")
        return wholes.isWhole(isPrefixed ? String(name.dropFirst(2)) : name)
    }

    /// Words that make any name that has them the name of a secret.
    package static let standardParts: Set<String> = [
        "access_key", "access_token", "account_key", "api_key", "assertion", "auth_code", "auth_key", "auth_token",
        "auth_user", "authorization", "bearer", "client_secret", "code_verifier", "credential", "credentials", "csrf",
        "csrfmiddlewaretoken", "cvc", "cvv", "device_code", "encryption_key", "functions_key", "id_token",
        "jsessionid", "jwt", "key_pair_id", "license_key", "master_key", "otp", "passcode", "passphrase", "passwd",
        "password", "passwords", "phpsessid", "private_key", "pwd", "rapidapi_key", "refresh_token", "saml_request",
        "saml_response", "secret", "secret_key", "secrets", "security_code", "session_id", "session_key",
        "session_token", "sid", "signature", "signing_key", "subscription_key", "ticket", "token", "totp",
        "verification_code", "xsrf", "xtoken",
    ]

    /// Words that are harmless in longer names, and names of secrets where they stand alone.
    package static let standardWholes: Set<String> = [
        "auth", "code", "cookie", "hmac", "key", "nonce", "pass", "pat", "pin", "policy", "pw", "session", "sig",
        "state",
    ]
}
