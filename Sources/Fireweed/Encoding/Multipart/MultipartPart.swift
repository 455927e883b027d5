// A body part of a form (RFC 7578 §4).

import Foundation

/// A body part: header fields, and content, which is opened when it is sent.
struct MultipartPart: Sendable {
    enum Content: Sendable {
        case data(Data)
        /// A file, and which one it was when it was added.
        case file(URL, FormFile.Identity?)
        case stream(OneShotStream)
    }

    let headers: HTTPHeaders
    let content: Content
    let byteCount: UInt64

    /// The encoded header, with its empty line.
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
        if let type { headers.add(.contentType(type)) }
        return headers
    }

    /// A name, escaped by the WHATWG's rules for forms, so that the name cannot inject a parameter or a part.
    static func escaped(_ name: String) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"": escaped.append(contentsOf: "%22".unicodeScalars)
            case "\r": escaped.append(contentsOf: "%0D".unicodeScalars)
            case "\n": escaped.append(contentsOf: "%0A".unicodeScalars)
            case "\0": break  // no field value may contain NUL, and browsers have no escape for it
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }
}
