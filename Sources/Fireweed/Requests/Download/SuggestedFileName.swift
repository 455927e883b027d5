// The name of a downloaded file.

package import Foundation
package import FoundationNetworking

/// File names for downloads, from the response or from its URL; never a path.
package enum SuggestedFileName {
    /// The longest name in bytes: file systems allow 255, and a suffix that makes the name unique may be appended.
    private static let maximumByteCount = 200

    /// The file name that the response suggests, otherwise the name in the URL; `nil` when neither has a usable name.
    package static func name(for response: HTTPURLResponse, url: URL?) -> String? {
        let suggested = response.value(forHTTPHeaderField: "Content-Disposition").flatMap {
            ContentDisposition($0).fileName
        }
        return suggested.flatMap(sanitised) ?? url.map(\.lastPathComponent).flatMap(sanitised)
    }

    /// The name that Apple's platforms suggest: from the response, else from the URL, else from the host.
    ///
    /// A host, and a name without an extension, get the extension of the media type.
    package static func suggestion(for response: HTTPURLResponse) -> String {
        let name = name(for: response, url: response.url)
        let text = name ?? response.url?.host.flatMap(sanitised) ?? "unknown"
        guard name == nil || !text.contains("."),
            let suffix = response.mimeType.flatMap(MediaTypes.fileExtension(ofType:))
        else { return text }
        return "\(text).\(suffix)"
    }

    /// The last component of a name, without leading dots, control characters and characters that change the direction
    /// of text, cut after 200 bytes; `nil` when nothing is left.
    ///
    /// Works on scalars, so that a combining character after a slash or a dot does not hide the slash or the dot.
    package static func sanitised(_ name: String) -> String? {
        let last = name.unicodeScalars.split { $0 == "/" || $0 == "\\" }.last ?? []
        let visible = last.filter { !isControl($0) }.drop { $0 == "." || $0.properties.isWhitespace }
        var text = String.UnicodeScalarView()
        var byteCount = 0
        for scalar in visible {
            byteCount += UTF8.width(scalar)
            guard byteCount <= maximumByteCount else { break }
            text.append(scalar)
        }
        while let end = text.last, end.properties.isWhitespace { text.removeLast() }
        return text.isEmpty ? nil : String(text)
    }

    /// Control characters (C0, DEL, C1), line separators, and characters that change the direction of text.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
