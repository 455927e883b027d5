// What is kept out of logs and archives.

package import Foundation

/// Which fields and parameters hold secrets, whose values are not written down.
///
/// Userinfo in URLs is left out in any case.
public struct Redaction: Sendable {
    /// The fields whose values are secrets, in lower case.
    public var fieldNames: Set<String>
    /// The parameters of queries, forms and JSON whose values are secrets, in lower case.
    public var parameterNames: Set<String>

    /// What stands in the place of a secret.
    public static let mark = "[redacted]"

    /// Makes a redaction; names are compared without case.
    public init(fieldNames: Set<String>, parameterNames: Set<String>) {
        self.fieldNames = Set(fieldNames.map { $0.lowercased() })
        self.parameterNames = Set(parameterNames.map { $0.lowercased() })
    }

    /// Keeps credentials, cookies, tokens, keys and signatures out, under the names that are common for them.
    public static let standard = Redaction(
        fieldNames: [
            "authorization", "proxy-authorization", "authentication-info", "cookie", "set-cookie", "x-api-key",
            "api-key",
            "x-auth-token", "x-access-token", "x-csrf-token", "x-xsrf-token", "x-amz-security-token", "x-goog-api-key",
        ],
        parameterNames: [
            "access_token", "refresh_token", "id_token", "token", "auth", "api_key", "apikey", "key", "password",
            "passwd",
            "pwd", "secret", "client_secret", "client_assertion", "assertion", "code", "code_verifier", "signature",
            "sig",
            "session", "x-amz-signature", "x-amz-credential", "x-amz-security-token", "x-goog-signature",
        ])

    /// Keeps nothing out but userinfo.
    public static let none = Redaction(fieldNames: [], parameterNames: [])

    // MARK: Applying it

    /// The value of a field as it may be written down; the scheme of credentials stays.
    package func value(_ value: String, ofField name: String) -> String {
        let name = name.lowercased()
        if ["location", "content-location", "referer"].contains(name) { return text(ofURL: value) }
        guard fieldNames.contains(name) else { return value }
        let scheme = String(value.unicodeScalars.prefix { $0 != " " })
        let keepsScheme = name.hasSuffix("authorization") && scheme.utf8.count < value.utf8.count
        return keepsScheme ? "\(scheme) \(Self.mark)" : Self.mark
    }

    /// A URL as it may be written down.
    package func text(ofURL text: String) -> String {
        let bare = (Userinfo.split(text)?.url ?? text).unicodeScalars
        guard let mark = bare.firstIndex(of: "?"), !parameterNames.isEmpty else { return String(bare) }
        let fragment = bare[mark...].firstIndex(of: "#") ?? bare.endIndex
        return String(bare[..<mark]) + "?" + pairs(in: bare[bare.index(after: mark)..<fragment])
            + String(bare[fragment...])
    }

    func isSecret(parameter name: String) -> Bool {
        parameterNames.contains((name.removingPercentEncoding ?? name).lowercased())
    }

    /// By scalars: a character that combines with `&` or `=` does not hide it.
    private func pairs(in query: Substring.UnicodeScalarView) -> String {
        query.split(separator: "&", omittingEmptySubsequences: false).map { pair in
            guard let equals = pair.firstIndex(of: "=") else { return String(pair) }
            let name = String(pair[..<equals])
            return isSecret(parameter: name) ? "\(name)=\(Self.mark)" : String(pair)
        }.joined(separator: "&")
    }

    /// Content as it may be written down: forms and JSON without the values of secret parameters and fields, anything else as it is.
    package func content(_ data: Data, type: String?) -> Data {
        guard !parameterNames.isEmpty, let type = type?.lowercased() else { return data }
        if type.contains("x-www-form-urlencoded") {
            return Data(pairs(in: String(decoding: data, as: UTF8.self).unicodeScalars[...]).utf8)
        }
        guard type.contains("json"), let object = try? JSONSerialization.jsonObject(with: data) else { return data }
        let (clean, hasChanged) = json(object, depth: 0)
        guard hasChanged else { return data }
        return (try? JSONSerialization.data(withJSONObject: clean, options: [.sortedKeys, .withoutEscapingSlashes]))
            ?? Data(Self.mark.utf8)
    }

    private func json(_ value: Any, depth: Int) -> (value: Any, hasChanged: Bool) {
        guard depth < 64 else { return (Self.mark, true) }
        switch value {
        case let members as [String: Any]:
            var clean: [String: Any] = [:]
            var hasChanged = false
            for (name, member) in members {
                let isSecret = isSecret(parameter: name) || fieldNames.contains(name.lowercased())
                let made = isSecret ? (Self.mark, true) : json(member, depth: depth + 1)
                clean[name] = made.0
                hasChanged = hasChanged || made.1
            }
            return (clean, hasChanged)
        case let elements as [Any]:
            let made = elements.map { json($0, depth: depth + 1) }
            return (made.map(\.value), made.contains(where: \.hasChanged))
        case let text as String where text.contains("://"):
            let clean = self.text(ofURL: text)
            return (clean, clean != text)
        default: return (value, false)
        }
    }
}
