// The requests that a stored response answers: `Vary` and credentials (RFC 9111 §4.1).

package import FireweedTransport
public import Foundation

/// The properties that a request must share with the request that a stored response answered.
///
/// Only digests are kept, so that cookies and credentials do not reach a disk.
public struct ResponseVariant: Sendable, Hashable {
    /// The names in `Vary`, in lower case, sorted.
    public let names: [String]
    /// The SHA-256 of the values that the request had for these names; empty when there are no names.
    public let selection: Data
    /// The SHA-256 of the request's credentials, cookies and client certificate; `nil` without any.
    ///
    /// Credentials are user and password, and the fields `Authorization` and `TransportOptions.credentialFieldNames`.
    ///
    /// Empty for a `public` response, which answers requests of every user.
    ///
    /// - SeeAlso: ``ResponseStore/separatesCookies``
    public let credentials: Data?

    /// Makes a variant from stored values.
    ///
    /// - Parameters:
    ///   - names: the names in `Vary`, in lower case, sorted.
    ///   - selection: the digest of the values that the request had for these names.
    ///   - credentials: the digest of the request's credentials, cookies and client certificate; empty for a `public`
    ///     response.
    public init(names: [String], selection: Data, credentials: Data?) {
        self.names = names
        self.selection = selection
        self.credentials = credentials
    }
}

extension ResponseVariant {
    /// The variant of a response to this request; `nil` when `Vary: *` excludes every other request (§4.1).
    init?(of head: ResponseHead, to request: CacheQuery, control: CacheControl) {
        let listed = Self.names(in: head)
        guard !listed.contains("*") else { return nil }
        names = Set(listed).sorted()
        selection = Self.selection(of: names, in: request.fields)
        // RFC 9111 §3.5 lets a private cache ignore credentials; this cache does not, since one process may send
        // requests for several users.
        credentials = control.isPublic ? Data() : Self.credentials(of: request)
    }

    /// Whether a stored response answers fewer requests since the response to this request has updated its head: it has
    /// become private, or varies by other fields.
    func isNarrowed(by head: ResponseHead, to request: CacheQuery) -> Bool {
        let control = CacheControl(head.value(of: "Cache-Control"))
        guard let updated = ResponseVariant(of: head, to: request, control: control) else { return true }
        let wasForAll = credentials?.isEmpty == true
        return wasForAll && updated.credentials?.isEmpty != true || !updated.names.allSatisfy(names.contains)
    }

    /// True when the stored response may answer this request.
    func matches(_ request: CacheQuery) -> Bool {
        guard names.isEmpty || Self.selection(of: names, in: request.fields) == selection else { return false }
        if let credentials, credentials.isEmpty { return true }
        return credentials == Self.credentials(of: request)
    }

    /// The names in all `Vary` fields, in lower case.
    package static func names(in head: ResponseHead) -> [String] {
        head.value(of: "Vary").map { value in
            value.unicodeScalars.split(separator: ",")
                .map { String($0).trimmingCharacters(in: .whitespaces).lowercased() }
                .filter { !$0.isEmpty }
        } ?? []
    }

    private static func credentials(of request: CacheQuery) -> Data? {
        var parts = request.userFields.map { "\($0.name.lowercased()):\($0.value)" }.sorted()
        if let user = request.credentials { parts.append("user \(user)") }
        if let certificate = request.certificate { parts.append("certificate \(certificate.base64EncodedString())") }
        let cookies = request.separatesCookies ? cookies(in: request.fields) : []
        if !cookies.isEmpty { parts.append("cookies \(cookies.joined(separator: ";"))") }
        return parts.isEmpty ? nil : digest(parts.joined(separator: "\n"))
    }

    /// The cookies of a request, sorted: a cookie storage may send the same cookies in another order.
    private static func cookies(in fields: FieldBlock) -> [String] {
        guard fields.contains("Cookie") else { return [] }
        return fields.fields.filter { $0.name.isEqualIgnoringASCIICase("Cookie") }
            .flatMap { $0.value.split(separator: ";") }
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }.sorted()
    }

    private static func selection(of names: [String], in fields: FieldBlock) -> Data {
        guard !names.isEmpty else { return Data() }
        // An absent field differs from an empty field; several fields of one name are one list (§4.1).
        let lines = names.map { name in
            let values = fields.fields.filter { $0.name.isEqualIgnoringASCIICase(name) }.map(\.value)
            return values.isEmpty ? name : "\(name):\(normalised(values.joined(separator: ",")))"
        }
        return digest(lines.joined(separator: "\n"))
    }

    /// A list without white space around its members; unchanged if it has a quoted string, where white space counts.
    private static func normalised(_ value: String) -> String {
        guard !value.contains("\"") else { return value }
        return value.split(separator: ",", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: ",")
    }

    private static func digest(_ text: String) -> Data {
        Data(Digest.sha256(Data(text.utf8)))
    }
}
