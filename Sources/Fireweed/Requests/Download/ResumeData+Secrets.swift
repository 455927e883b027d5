// Resume data without secrets, for the sidecar of a partial file.

import FireweedTransport
import Foundation

extension ResumeData {
    /// Replaces a secret by `redacted`: the usual replacement has brackets, which a URL cannot have.
    private static let redaction = Redaction.standard.replacing(by: "redacted")

    /// This resume data without secrets, for the sidecar of a partial file.
    ///
    /// Fields with credentials are left out, as are fields whose values logs hide. Parts of the URL that logs hide are
    /// replaced. In this case a digest of the URL without userinfo is stored, so that the partial file of another URL
    /// is not continued.
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
        // If the redacted text is not a valid URL, the URL without query and fragment is used.
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
