// Endpoints that describe the request.

import FireweedTransport
import Foundation

/// The endpoints `/get`, `/post`, `/put`, `/patch`, `/delete`, `/anything`, `/headers`, `/ip`, `/user-agent`,
/// `/upload`, `/parts` and `/response-headers`.
enum EchoEndpoints {
    static func answer(_ name: String, _ rest: [String], _ request: ReceivedRequest) -> FixtureResponse? {
        switch name {
        case "get", "post", "put", "patch", "delete":
            guard rest.isEmpty else { return nil }
            guard request.method == name.uppercased() || (name == "get" && request.method == "HEAD") else {
                return FixtureResponse(status: 405, fields: [("Allow", name.uppercased())])
            }
            return .json(name == "get" ? summary(request) : description(request))
        case "anything": return .json(description(request))
        case "headers": return .json(["headers": headers(request)])
        case "ip": return .json(["origin": "127.0.0.1"])
        case "user-agent": return .json(["user-agent": request.field("User-Agent") ?? ""])
        case "upload": return .json(["byteCount": request.bodyByteCount, "crc32": request.bodyChecksum])
        case "parts":
            guard let parts = request.parts else { return .json(["error": "no form"], status: 400) }
            return .json(["parts": parts.map(Self.description)])
        case "response-headers":
            guard request.query.allSatisfy(Self.mayBeField) else {
                return .json(["error": "that is no field of a response, or one of its framing"], status: 400)
            }
            let object = Dictionary(request.query.map { ($0.name, $0.value) }) { "\($0), \($1)" }
            return .json(object, fields: request.query)
        default: return nil
        }
    }

    private static func summary(_ request: ReceivedRequest) -> [String: Any] {
        ["args": values(request.query), "headers": headers(request), "origin": "127.0.0.1", "url": url(request)]
    }

    static func description(_ request: ReceivedRequest) -> [String: Any] {
        var object = summary(request)
        let form = FormParser.parse(request)
        object["method"] = request.method
        object["form"] = values(form.fields)
        object["files"] = values(form.files)
        object["json"] = (try? JSONSerialization.jsonObject(with: request.body, options: .fragmentsAllowed)) ?? NSNull()
        object["data"] =
            form.isForm
            ? ""
            : String(data: request.body, encoding: .utf8)
                ?? "data:application/octet-stream;base64,\(request.body.base64EncodedString())"
        return object
    }

    /// Whether the server may send a field that a request asks for: framing and connection are the server's own.
    private static func mayBeField(_ field: (name: String, value: String)) -> Bool {
        let isOwn = ["content-length", "transfer-encoding", "connection", "trailer"].contains(field.name.lowercased())
        return field.name.isToken && field.value.staysInLine && !isOwn
    }

    private static func description(_ part: FormPart) -> [String: Any] {
        [
            "name": part.name, "filename": part.fileName ?? NSNull(), "type": part.type ?? NSNull(),
            "byteCount": part.byteCount, "crc32": part.checksum,
        ]
    }

    private static func url(_ request: ReceivedRequest) -> String {
        "\(request.scheme)://\(request.field("Host") ?? "127.0.0.1")\(request.target)"
    }

    private static func headers(_ request: ReceivedRequest) -> [String: Any] {
        Dictionary(request.fields.map { ($0.name, $0.value) }) { "\($0), \($1)" }
    }

    /// Groups the values by name: a single value stays a string, and several become a list.
    private static func values(_ pairs: [(name: String, value: String)]) -> [String: Any] {
        Dictionary(grouping: pairs, by: \.name).mapValues {
            $0.count == 1 ? $0[0].value as Any : $0.map(\.value) as Any
        }
    }
}

/// A parser of URL-encoded and multipart forms, with its result.
final class FormParser {
    private(set) var fields: [(name: String, value: String)] = []
    private(set) var files: [(name: String, value: String)] = []
    private(set) var isForm = false

    /// Parses the content of a request if it is a form; other content gives no fields.
    static func parse(_ request: ReceivedRequest) -> FormParser {
        let parser = FormParser()
        guard let type = request.field("Content-Type") else { return parser }
        if type.lowercased().hasPrefix("application/x-www-form-urlencoded") {
            parser.isForm = true
            parser.fields = ReceivedTarget.query(of: "?" + String(decoding: request.body, as: UTF8.self))
        } else if type.lowercased().hasPrefix("multipart/form-data") {
            parser.isForm = true
            parser.parseMultipart(request.body, type)
        }
        return parser
    }

    /// Parses `multipart/form-data` (RFC 7578) part by part.
    private func parseMultipart(_ body: Data, _ type: String) {
        guard let range = type.range(of: "boundary=") else { return }
        let boundary = type[range.upperBound...].prefix { $0 != ";" }.trimmingCharacters(
            in: CharacterSet(charactersIn: "\" "))
        let delimiter = Data("--\(boundary)".utf8)
        var rest = body[...]
        guard let first = rest.range(of: delimiter) else { return }
        rest = rest[first.upperBound...]
        while !rest.starts(with: Data("--".utf8)), let end = rest.range(of: Data("\r\n".utf8) + delimiter) {
            take(part: rest[rest.startIndex..<end.lowerBound].dropFirst(2))
            rest = rest[end.upperBound...]
        }
    }

    private func take(part: Data) {
        guard let end = part.range(of: Data("\r\n\r\n".utf8)) else { return }
        let head = String(decoding: part[part.startIndex..<end.lowerBound], as: UTF8.self)
        let content = Data(part[end.upperBound...])
        guard let name = Self.parameter("name", in: head) else { return }
        let text =
            String(data: content, encoding: .utf8)
            ?? "data:application/octet-stream;base64,\(content.base64EncodedString())"
        if Self.parameter("filename", in: head) != nil {
            files.append((name, text))
        } else {
            fields.append((name, text))
        }
    }

    private static func parameter(_ name: String, in head: String) -> String? {
        guard let range = head.range(of: "; \(name)=\"") else { return nil }
        return String(head[range.upperBound...].prefix { $0 != "\"" })
    }
}
