// Resume data in the sidecar of a partial file, which has no secrets.

import FireweedTransport
import Foundation

extension ResumeData {
    /// A URL cannot have the usual text for a secret, which has brackets.
    private static let redaction = Redaction.standard.replacing(by: "redacted")

    /// The same without secrets, for the sidecar of a partial file.
    ///
    /// Without fields that hold credentials, and without fields and parameters whose values logs hide. A digest then
    /// stands for the URL, without userinfo, so that a part of another URL is not continued.
    func withoutSecrets(_ credentials: CredentialFields) -> ResumeData {
        var stripped = self
        stripped.headers = HTTPHeaders(
            headers.filter { field in
                credentials.kind(of: field.name) == nil
                    && Self.redaction.value(field.value, ofField: field.name) == field.value
            })
        let bare = Self.bareText(of: url)
        let text = Self.redaction.text(ofURL: bare)
        if text != bare { stripped.urlDigest = Self.digest(bare) }
        // Without query and fragment, where what is left of them is no URL.
        stripped.url = URL(string: text) ?? URL(string: String(bare.prefix { $0 != "?" && $0 != "#" })) ?? url
        return stripped
    }

    /// Whether the partial file belongs to the representation at a URL; userinfo makes no difference.
    func describes(_ other: URL) -> Bool {
        let text = Self.bareText(of: other)
        return urlDigest.map { $0 == Self.digest(text) } ?? (text == Self.bareText(of: url))
    }

    private static func bareText(of url: URL) -> String {
        Userinfo.split(url.absoluteString)?.url ?? url.absoluteString
    }

    private static func digest(_ text: String) -> String { Hash.sha256.hexadecimalDigest(of: text) }
}
