// Parsing of a multipart form.

public import Foundation

/// One part of a form (RFC 7578) that was received.
public struct RecordedPart: Sendable, Hashable {
    /// The name of the part's field; empty when there is none.
    public let name: String
    /// The name of the part's file; `nil` when there is none.
    public let fileName: String?
    /// The part's media type; `nil` when there is none.
    public let contentType: String?
    /// The part's content.
    public let body: Data

    /// The content as text; bytes that are not UTF-8 become U+FFFD.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// Splits content at its boundary (RFC 2046 §5.1.1); preamble, epilogue and parts without a header are left out.
    static func parts(of body: Data, contentType: String) -> [RecordedPart] {
        guard let boundary = parameter("boundary", of: contentType), !boundary.isEmpty else {
            return []
        }
        let delimiter = Data("--\(boundary)".utf8)
        var parts: [RecordedPart] = []
        var start: Data.Index?
        var place = body.startIndex
        while let found = body.range(of: delimiter, in: place..<body.endIndex) {
            place = found.upperBound
            guard isLine(found, of: body) else { continue }
            // The CRLF before a delimiter belongs to the delimiter.
            if let start, found.lowerBound - 2 >= start,
                let part = part(body[start..<found.lowerBound - 2])
            {
                parts.append(part)
            }
            start = found.upperBound + 2
        }
        return parts
    }

    /// Whether a delimiter is at the start of a line, and is not the start of a longer boundary.
    private static func isLine(_ delimiter: Range<Data.Index>, of body: Data) -> Bool {
        let isAtStart =
            delimiter.lowerBound == body.startIndex || body[..<delimiter.lowerBound].suffix(2) == Data("\r\n".utf8)
        let next = body[delimiter.upperBound...].first
        return isAtStart && (next == nil || [0x0D, 0x2D, 0x20, 0x09].contains(next))
    }

    private static func part(_ bytes: Data) -> RecordedPart? {
        let empty = Data("\r\n\r\n".utf8)
        guard let end = bytes.range(of: empty) else { return nil }
        var fields: [String: String] = [:]
        for line in String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(
            separatedBy: "\r\n")
        {
            let pair = line.split(separator: ":", maxSplits: 1)
            guard pair.count == 2 else { continue }
            fields[pair[0].lowercased()] = pair[1].trimmingCharacters(in: .whitespaces)
        }
        let disposition = fields["content-disposition"] ?? ""
        return RecordedPart(
            name: parameter("name", of: disposition) ?? "",
            fileName: parameter("filename", of: disposition),
            contentType: fields["content-type"], body: Data(bytes[end.upperBound...]))
    }

    /// Returns the value of a field's parameter, without quotes; `nil` when there is none.
    private static func parameter(_ name: String, of field: String) -> String? {
        for parameter in parameters(of: field) {
            let pair = parameter.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, pair[0].trimmingCharacters(in: .whitespaces).lowercased() == name
            else { continue }
            let value = pair[1].trimmingCharacters(in: .whitespaces)
            guard value.count > 1, value.first == "\"", value.last == "\"" else { return value }
            // Only `\"` is unescaped; another backslash stays, since browsers have sent Windows paths unescaped.
            return value.dropFirst().dropLast().replacingOccurrences(of: "\\\"", with: "\"")
        }
        return nil
    }

    /// Returns the parameters after a field's first value, which are separated by semicolons outside quotes.
    private static func parameters(of field: String) -> [String] {
        var parts = [""]
        var (isQuoted, isEscaped) = (false, false)
        for character in field.unicodeScalars {
            if character == ";", !isQuoted {
                parts.append("")
                continue
            }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            isEscaped = character == "\\" && isQuoted
            parts[parts.count - 1].unicodeScalars.append(character)
        }
        return Array(parts.dropFirst())
    }
}
