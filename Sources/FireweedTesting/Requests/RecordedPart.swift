// The parts of a multipart form, read back.

public import Foundation

/// One part of a form (RFC 7578) that was received.
public struct RecordedPart: Sendable, Hashable {
    /// The name of its field; empty when there is none.
    public let name: String
    /// The name of its file; `nil` when there is none.
    public let fileName: String?
    /// Its media type; `nil` when there is none.
    public let contentType: String?
    /// Its content.
    public let body: Data

    /// The content as text; bytes that are not UTF-8 become U+FFFD.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// Cuts content at its boundary (RFC 2046 §5.1.1); what is not a part is left out.
    static func parts(of body: Data, contentType: String) -> [RecordedPart] {
        guard let boundary = parameter("boundary", of: contentType), !boundary.isEmpty else {
            return []
        }
        let delimiter = Data("--\(boundary)".utf8)
        var parts: [RecordedPart] = []
        var start: Data.Index?
        var place = body.startIndex
        while let found = body.range(of: delimiter, in: place..<body.endIndex) {
            // A delimiter begins a line: the CRLF in front of it belongs to it.
            if let start, found.lowerBound - 2 >= start,
                let part = part(body[start..<found.lowerBound - 2])
            {
                parts.append(part)
            }
            start = found.upperBound + 2
            place = found.upperBound
        }
        return parts
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

    /// The value of a parameter, without quotes.
    private static func parameter(_ name: String, of field: String) -> String? {
        for parameter in field.components(separatedBy: ";").dropFirst() {
            let pair = parameter.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, pair[0].trimmingCharacters(in: .whitespaces).lowercased() == name
            else { continue }
            return pair[1].trimmingCharacters(in: CharacterSet(charactersIn: " \t\""))
        }
        return nil
    }
}
