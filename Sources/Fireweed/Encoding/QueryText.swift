// Escaping for queries and forms.

public import Foundation
import FoundationNetworking

extension CharacterSet {
    /// What stands unescaped in a name or value: RFC 3986's unreserved characters, `/` and `?`.
    public static let afURLQueryAllowed = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/?")
}

/// Percent-encoding of names and values.
enum QueryText {
    static func escaped(_ text: String, allowed: CharacterSet = .afURLQueryAllowed) -> String {
        text.addingPercentEncoding(withAllowedCharacters: allowed) ?? text
    }
}

extension URLRequest {
    /// Appends to the query, behind what is there already.
    mutating func appendQuery(_ text: String) {
        guard let url, var components = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return }
        components.percentEncodedQuery = components.percentEncodedQuery.map { "\($0)&\(text)" } ?? text
        self.url = components.url ?? url
    }

    /// Sets form-encoded content, and its type unless there is one.
    mutating func setFormContent(_ data: Data) {
        setContent(data, "application/x-www-form-urlencoded; charset=utf-8")
    }

    /// Sets the content, and its type unless there is one.
    mutating func setContent(_ data: Data, _ type: String) {
        if value(forHTTPHeaderField: "Content-Type") == nil { setValue(type, forHTTPHeaderField: "Content-Type") }
        httpBody = data
    }
}
