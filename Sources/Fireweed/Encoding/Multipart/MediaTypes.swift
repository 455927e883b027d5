// Media types by file name.

import Foundation

/// Media types by the extension of a file name.
public enum MediaTypes {
    /// The type of an extension, without regard to case; `application/octet-stream` for an unknown extension.
    public static func type(ofExtension name: String) -> String {
        installed[name.lowercased()] ?? "application/octet-stream"
    }

    /// The extension of a media type, without regard to case; `nil` for an unknown type and for
    /// `application/octet-stream`.
    static func fileExtension(ofType type: String) -> String? {
        let type = type.lowercased()
        return type == "application/octet-stream" ? nil : extensions[type]
    }

    /// The extension of each type: the longest in the built-in table, as Apple's systems choose; for types that are not
    /// in that table, the first in alphabetical order.
    private static let extensions: [String: String] = {
        let known = Dictionary(builtIn.map { ($0.value, $0.key) }) { $0.count > $1.count ? $0 : $1 }
        let others = Dictionary(installed.map { ($0.value, $0.key) }) { min($0, $1) }
        return others.merging(known) { $1 }
    }()

    /// The built-in table, overridden by the table of Debian's package `media-types` if that is installed.
    private static let installed = table(
        with: FileManager.default.contents(atPath: "/etc/mime.types").map { String(decoding: $0, as: UTF8.self) })

    /// The built-in table, overridden by rows in the format of `mime.types(5)`.
    static func table(with lines: String?) -> [String: String] {
        var table = builtIn
        for line in lines?.split(whereSeparator: \.isNewline) ?? [] where !line.hasPrefix("#") {
            let words = line.split(whereSeparator: \.isWhitespace)
            for name in words.dropFirst() { table[name.lowercased()] = String(words[0]) }
        }
        return table
    }

    private static let builtIn = [
        "txt": "text/plain", "html": "text/html", "htm": "text/html", "css": "text/css", "csv": "text/csv",
        "js": "text/javascript", "json": "application/json", "xml": "application/xml", "pdf": "application/pdf",
        "zip": "application/zip", "gz": "application/gzip", "png": "image/png", "jpg": "image/jpeg",
        "jpeg": "image/jpeg", "gif": "image/gif", "svg": "image/svg+xml", "webp": "image/webp", "mp3": "audio/mpeg",
        "mp4": "video/mp4",
    ]
}
