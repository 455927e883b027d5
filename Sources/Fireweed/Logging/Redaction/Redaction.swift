// The rules for secrets in logs and archives.

import FireweedTransport
import Foundation

/// The names of the fields and parameters whose values are secrets and stay out of logs and archives.
///
/// Names are compared without case and by their parts: `access_token` is also `accessToken`, `Access-Token`,
/// `user[access_token]` and `my_access_token_2`. Userinfo in URLs is always removed.
///
/// Parameters are searched for in queries, in fragments, in URLs that are the value of a parameter or of a field, in
/// forms, in JSON and in JSON Lines, in the elements and attributes of XML, in the data of server-sent events, and in
/// JSON that is the text of one of these. An object with a name and a value, such as `{"name": "password", "value":
/// "…"}`, counts as a parameter. In the path of a URL, a segment with a digit or at least 20 bytes is a secret after a
/// segment that is the name of a parameter (`/reset-token/8f3a`), and a JSON Web Token is always a secret. Content that
/// cannot be searched is removed as a whole: text, `multipart` content, JSON and XML that are truncated or do not
/// parse, XML with entities of its own, and content of an unknown type. Images, audio, video, fonts and style sheets
/// stay. Without any names of parameters, all content stays.
///
/// A session's logs, archives, recordings and `curl` commands also hide the fields of the session's
/// ``TransportOptions/credentialFieldNames``, unless the redaction hides nothing (``none``).
public struct Redaction: Sendable {
    /// The fields whose values are secrets, in lower case; compared as whole names.
    public var fieldNames: Set<String>
    /// The names of secret parameters in queries, forms, JSON and XML, which are also secret in the names of fields; in
    /// lower case.
    ///
    /// A name is secret if it contains all parts of one of these names in sequence.
    public var parameterNames: Set<String> { didSet { parameters = SecretNames(parameterNames) } }
    /// Names that are secret only as the whole name of a parameter or field, or as the whole text in its brackets or
    /// between its dots; in lower case.
    ///
    /// An `X-` before a field's name is ignored.
    ///
    /// Use these for words that are harmless in longer names, such as `code` and `key`.
    public var wholeParameterNames: Set<String> { didSet { wholeParameters = SecretNames(wholeParameterNames) } }

    private var parameters: SecretNames
    private var wholeParameters: SecretNames

    /// The text that replaces a secret.
    public static let mark = "[redacted]"
    /// The text that replaces a secret here: `mark`, or a text that needs no quoting, as in a `curl` command.
    private(set) var replacement = Self.mark

    /// Makes a redaction.
    ///
    /// - Parameters:
    ///   - fieldNames: the names of fields whose values are secrets.
    ///   - parameterNames: names of parameters, or parts of names, whose values are secrets.
    ///   - wholeParameterNames: names whose values are secrets only when they are the whole name; none by default.
    public init(fieldNames: Set<String>, parameterNames: Set<String>, wholeParameterNames: Set<String> = []) {
        self.fieldNames = Set(fieldNames.map { $0.lowercased() })
        self.parameterNames = Set(parameterNames.map { $0.lowercased() })
        self.wholeParameterNames = Set(wholeParameterNames.map { $0.lowercased() })
        parameters = SecretNames(self.parameterNames)
        wholeParameters = SecretNames(self.wholeParameterNames)
    }

    /// Removes credentials, cookies, tokens, keys and signatures, under their usual names.
    ///
    /// A field is secret if it is in ``fieldNames``, which includes ``TransportOptions/standardCredentialFieldNames``,
    /// or if its name is secret by the names of parameters.
    public static let standard = Redaction(
        fieldNames: CredentialFields.hiddenNames,
        parameterNames: SecretNames.standardParts, wholeParameterNames: SecretNames.standardWholes)

    /// Removes only userinfo.
    public static let none = Redaction(fieldNames: [], parameterNames: [])

    /// The same redaction with another text for a secret.
    func replacing(by replacement: String) -> Redaction {
        var copy = self
        copy.replacement = replacement
        return copy
    }

    /// The same redaction, which also hides these fields, in lower case; a redaction that hides nothing stays
    /// unchanged.
    package func hiding(fields names: Set<String>) -> Redaction {
        guard !names.isEmpty, !(fieldNames.isEmpty && ignoresParameters) else { return self }
        var copy = self
        copy.fieldNames.formUnion(names)
        return copy
    }

    // MARK: Names

    /// Whether no parameters are searched for, because no names are set.
    var ignoresParameters: Bool { parameterNames.isEmpty && wholeParameterNames.isEmpty }

    func isSecret(parameter name: String) -> Bool {
        let name = name.removingPercentEncoding ?? name
        return parameters.isPart(of: name) || wholeParameters.isWhole(name)
    }

    func isSecret(field name: String) -> Bool {
        fieldNames.contains(name.lowercased())
            || SecretNames.isSecret(field: name, parts: parameters, wholes: wholeParameters)
    }

    // MARK: Fields

    /// Returns the value of a field without secrets; a known authentication scheme stays.
    package func value(_ value: String, ofField name: String) -> String {
        let lowercased = name.lowercased()
        if ["location", "content-location", "referer"].contains(lowercased) { return text(ofURL: value) }
        guard isSecret(field: name) else { return cleaned(value) ?? value }
        let scheme = String(value.unicodeScalars.prefix { $0 != " " })
        let keepsScheme =
            lowercased.hasSuffix("authorization") && scheme.utf8.count < value.utf8.count
            && Self.authenticationSchemes.contains(scheme.lowercased())
        return keepsScheme ? "\(scheme) \(replacement)" : replacement
    }

    /// IANA's registry of HTTP authentication schemes (RFC 9110 §16.4.1), and a few common schemes that are not
    /// registered.
    ///
    /// Any other first word may be a part of the secret.
    private static let authenticationSchemes: Set<String> = [
        "basic", "bearer", "concealed", "digest", "dpop", "gnap", "hoba", "mutual", "negotiate", "oauth",
        "privatetoken", "scram-sha-1", "scram-sha-256", "vapid", "apikey", "aws4-hmac-sha256", "hawk", "ntlm",
        "sharedkey", "token",
    ]
}
