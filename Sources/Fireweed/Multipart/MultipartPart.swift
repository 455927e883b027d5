// A part of a form, and its header.

import Foundation

/// A part: header fields and content, which is opened when it is sent.
struct MultipartPart: Sendable {
    enum Content: Sendable {
        case data(Data)
        case file(URL)
        case stream(OneShotStream)
    }

    let headers: HTTPHeaders
    let content: Content
    let byteCount: UInt64

    /// The header as it stands in the form, with its empty line.
    var head: String {
        headers.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n"
    }
}

/// The header fields of parts.
enum MultipartHeader {
    static func fields(name: String, fileName: String?, type: String?) -> HTTPHeaders {
        var disposition = "form-data; name=\"\(escaped(name))\""
        if let fileName { disposition += "; filename=\"\(escaped(fileName))\"" }
        var headers: HTTPHeaders = [.contentDisposition(disposition)]
        if let type { headers.add(.contentType(type.filter { !$0.isNewline })) }
        return headers
    }

    /// As the WHATWG's form rules say, so that a name can forge neither a parameter nor a part.
    static func escaped(_ name: String) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"": escaped.append(contentsOf: "%22".unicodeScalars)
            case "\r": escaped.append(contentsOf: "%0D".unicodeScalars)
            case "\n": escaped.append(contentsOf: "%0A".unicodeScalars)
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }
}

/// Media types by the extension of a file's name.
package enum MediaTypes {
    package static func type(ofExtension name: String) -> String {
        table[name.lowercased()] ?? "application/octet-stream"
    }

    /// Debian's table where it is installed, over a small one of our own.
    private static let table: [String: String] = {
        var table = [
            "txt": "text/plain", "html": "text/html", "htm": "text/html", "css": "text/css", "csv": "text/csv",
            "js": "text/javascript", "json": "application/json", "xml": "application/xml", "pdf": "application/pdf",
            "zip": "application/zip", "gz": "application/gzip", "png": "image/png", "jpg": "image/jpeg",
            "jpeg": "image/jpeg", "gif": "image/gif", "svg": "image/svg+xml", "webp": "image/webp", "mp3": "audio/mpeg",
            "mp4": "video/mp4",
        ]
        guard let data = FileManager.default.contents(atPath: "/etc/mime.types") else { return table }
        for line in String(decoding: data, as: UTF8.self).split(separator: "\n") where !line.hasPrefix("#") {
            let words = line.split(whereSeparator: \.isWhitespace)
            for name in words.dropFirst() { table[name.lowercased()] = String(words[0]) }
        }
        return table
    }()
}
