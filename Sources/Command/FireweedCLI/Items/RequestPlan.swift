// Conversion of an invocation to the request that is sent.

import CommandLanguage
import Fireweed
import Foundation

/// A request, ready to be sent.
struct RequestPlan {
    /// The content.
    enum Content {
        case none
        case data(Data, type: String)
        case file(URL, type: String)
        case input(StandardInput.Rest, type: String)
        case stream(FileStream, type: String)
        case multipart(MultipartFormData)
    }

    var url: URL
    /// Names and values that items add to the query, encoded.
    private let query: [String]
    let method: HTTPMethod
    let headers: HTTPHeaders
    /// Names of fields that are never sent, no matter which part would add them.
    let removedHeaders: [String]
    /// The fields of the command line, in its order; `headers` has the fields with the same name joined.
    let lines: [Field]
    let content: Content

    /// Makes a plan; reads the files that items name.
    ///
    /// Throws `UsageError`, and what reading throws.
    init(_ invocation: Invocation, standardInput: StandardInput.Content? = nil) throws {
        if let transfer = invocation.curl {
            self = try RequestPlan(transfer, invocation, standardInput)
            return
        }
        query = try Self.query(invocation)
        url = try Self.url(invocation, adding: query)
        method = HTTPMethod(rawValue: invocation.effectiveMethod(hasInput: standardInput != nil))
        content = try Self.content(invocation, standardInput)
        let lines = try invocation.items.compactMap(Self.line)
        self.lines = lines
        var headers = HTTPHeaders()
        switch content {
        case .data(_, let type), .file(_, let type), .input(_, let type), .stream(_, let type):
            headers.add(.contentType(type))
        case .none, .multipart: break
        }
        if invocation.bodyForm == .json, case .data = content, invocation.items.contains(where: \.isData) {
            headers.add(.accept("application/json, */*;q=0.5"))
        }
        for header in Self.joined(lines) { headers.update(header) }
        let names = Set(lines.map { $0.name.lowercased() })
        removedHeaders = invocation.items.filter { $0.kind == .removedHeader }.map(\.name)
            .filter { !names.contains($0.lowercased()) }
        for name in removedHeaders { headers.remove(name: name) }
        self.headers = headers
    }

    /// Makes a plan from its parts.
    init(url: URL, method: HTTPMethod, lines: [Field], removedHeaders: [String], content: Content) {
        (self.url, self.method, self.lines, self.content) = (url, method, lines, content)
        self.removedHeaders = removedHeaders
        query = []
        headers = HTTPHeaders(Self.joined(lines))
    }

    /// Returns the lines as fields; lines with the same name become one field.
    ///
    /// The values of one name form a list, joined by "," (RFC 9110 §5.3); only cookies are joined by ";" (RFC 6265
    /// §4.2).
    private static func joined(_ lines: [Field]) -> [HTTPHeader] {
        byName(lines).map { same in
            let separator = same[0].name.isEqualIgnoringASCIICase("Cookie") ? "; " : ", "
            return HTTPHeader(name: same[0].name, value: same.map(\.value).joined(separator: separator))
        }
    }

    /// Returns the field that an item gives; `nil` for an item of another kind.
    private static func line(_ item: Item) throws -> Field? {
        switch item.kind {
        case .header: Field(name: item.name, value: item.value.trimmingCharacters(in: .whitespaces))
        case .headerFromFile:
            Field(name: item.name, value: try LocalFile.line(item.value, for: item.name))
        case .emptyHeader: Field(name: item.name, value: "")
        default: nil
        }
    }

    /// Returns the lines grouped by name, in the order of the first line of each name.
    private static func byName(_ lines: [Field]) -> [[Field]] {
        var (groups, places): ([[Field]], [String: Int]) = ([], [:])
        for line in lines {
            let place = places[line.name.lowercased(), default: groups.count]
            places[line.name.lowercased()] = place
            if place == groups.count { groups.append([line]) } else { groups[place].append(line) }
        }
        return groups
    }

    /// How the fields are written: in the order of the command line, one line for each item.
    var fieldWriting: FieldWriting {
        var writing = FieldWriting()
        writing.omittedNames = removedHeaders
        for same in Self.byName(lines) {
            let field = Field(name: same[0].name, value: headers[same[0].name] ?? "")
            writing.rows.append(FieldWriting.Row(field: field, lines: same))
        }
        return writing
    }

    /// Refuses names and values that no field can have (RFC 9110 §5.1, §5.5), such as a value with a line break.
    static func check(_ headers: HTTPHeaders) throws {
        for header in headers {
            let isToken = header.name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
            guard isToken, !header.name.isEmpty else {
                throw UsageError(message: "\"\(header.name)\" is not the name of a header field")
            }
            guard !header.value.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) else {
                throw UsageError(message: "the value of the field \(header.name) has a line break or a NUL in it")
            }
        }
        // The transport would refuse these fields too, but only when the message is sent.
        let fields = FieldBlock(headers.map { Field(name: $0.name, value: $0.value) })
        if let refusal = fields.refusal { throw UsageError(message: refusal) }
    }

    /// Returns the same request for another URL.
    func with(url: URL) -> RequestPlan {
        var plan = self
        plan.url = url
        return plan
    }

    /// Returns the URL of an invocation with the query of this request; throws `UsageError` for a text that is not a
    /// URL.
    func url(for invocation: Invocation) throws -> URL {
        try Self.url(invocation, adding: query)
    }

    private static func query(_ invocation: Invocation) throws -> [String] {
        try invocation.items.filter { $0.kind == .query || $0.kind == .queryFromFile }.map { item in
            let value = item.kind == .query ? item.value : try LocalFile.line(item.value, for: item.name)
            return "\(URLEncoding.default.escape(item.name))=\(URLEncoding.default.escape(value))"
        }
    }

    private static func url(_ invocation: Invocation, adding query: [String]) throws -> URL {
        if query.isEmpty, let url = invocation.parsedURL { return url }
        let text = invocation.url
        guard var components = URLComponents(string: text) else {
            throw UsageError(message: "\"\(text)\" is not a URL")
        }
        if !query.isEmpty {
            let present = components.percentEncodedQuery.map { [$0] } ?? []
            components.percentEncodedQuery = (present + query).joined(separator: "&")
        }
        guard let url = components.url else { throw UsageError(message: "\"\(text)\" is not a URL") }
        return url
    }

    private static func content(_ invocation: Invocation, _ standardInput: StandardInput.Content?) throws -> Content {
        if let raw = invocation.rawBody {
            return .data(
                Data(raw.utf8), type: type(invocation, else: isJSON(raw) ? jsonType : "text/plain; charset=utf-8"))
        }
        if let path = invocation.uploadFile, path != "-" {
            let url = URL(fileURLWithPath: path)
            let type =
                invocation.uploadType
                ?? type(invocation, else: MediaTypes.type(ofExtension: url.pathExtension))
            if try LocalFile.isRegular(path) { return .file(url, type: type) }
            return .stream(FileStream(path: path), type: type)
        }
        let items = invocation.items.filter(\.isData)
        guard !items.isEmpty else {
            let type = invocation.uploadType ?? type(invocation, else: jsonType)
            switch standardInput {
            case .data(let data): return .data(data, type: type)
            case .file(let file): return .file(file, type: type)
            case .rest(let rest): return .input(rest, type: type)
            case nil: return invocation.uploadFile == nil ? .none : .data(Data(), type: type)
            }
        }
        if invocation.bodyForm == .json { return .data(try json(items), type: jsonType) }
        if invocation.bodyForm == .multipart || items.contains(where: \.isFile) {
            return .multipart(try multipart(items, boundary: invocation.boundary))
        }
        let pairs = try items.map {
            "\(URLEncoding.default.escape($0.name))=\(URLEncoding.default.escape(try text(of: $0)))"
        }
        return .data(Data(pairs.joined(separator: "&").utf8), type: formType)
    }

    private static let jsonType = "application/json"
    private static let formType = "application/x-www-form-urlencoded; charset=utf-8"

    /// Returns the media type of content that is not made of items: that of `-j` or `-f`, else `own`.
    private static func type(_ invocation: Invocation, else own: String) -> String {
        switch invocation.givenForm {
        case .json: jsonType
        case .form: formType
        case .multipart, nil: own
        }
    }

    /// Whether a text is a JSON object or array: a single word or number counts as plain text.
    private static func isJSON(_ text: String) -> Bool {
        guard let first = text.first(where: { !$0.isWhitespace }), "{[".contains(first) else { return false }
        return (try? JSONReader.read(text)) != nil
    }

    /// Encodes the JSON value of the items, in the order of the command line; JSON in items stays as it was written.
    private static func json(_ items: [Item]) throws -> Data {
        let builder = JSONBuilder()
        for item in items {
            let text = try text(of: item)
            let value: JSONNode
            if item.kind == .json || item.kind == .jsonFromFile {
                do {
                    value = try JSONReader.read(text)
                } catch let error as JSONReadingError {
                    let place = String(decoding: text.utf8.dropFirst(error.offset).prefix(20), as: UTF8.self)
                    throw UsageError(
                        message: "the value of \(item.name) is not JSON: \(error.message)"
                            + (place.isEmpty ? " at its end" : " at \"\(place)\""))
                }
            } else {
                value = JSONNode(text: text)
            }
            try builder.set(value, at: NestedName(item.name))
        }
        return Data(builder.value.text.utf8)
    }

    private static func multipart(_ items: [Item], boundary: String?) throws -> MultipartFormData {
        let form = MultipartFormData(boundary: boundary)
        for item in items {
            guard item.isFile else {
                form.append(Data(try text(of: item).utf8), withName: item.name)
                continue
            }
            let file = FileReference(item.value)
            let url = URL(fileURLWithPath: file.path)
            let name = file.fileName ?? (file.path == "-" ? "stdin" : url.lastPathComponent)
            let type = file.type ?? MediaTypes.type(ofExtension: (name as NSString).pathExtension)
            if file.path != "-", try LocalFile.isRegular(file.path) {
                form.append(url, withName: item.name, fileName: name, mimeType: type)
            } else {
                // A file without a length is read into memory first, since the form announces its whole length.
                form.append(try LocalFile.data(file.path), withName: item.name, fileName: name, mimeType: type)
            }
        }
        return form
    }

    private static func text(of item: Item) throws -> String {
        guard item.kind == .textFromFile || item.kind == .jsonFromFile else { return item.value }
        return try LocalFile.text(item.value, for: item.name)
    }
}

/// Content that is read as it is sent, and so has no known length: that of a fifo, a device or a pipe of the shell.
struct FileStream: Sendable {
    let path: String
    /// The content, if it has been read already.
    private var data: Data?

    init(path: String) { self.path = path }

    init(data: Data) { (path, self.data) = ("-", data) }

    /// Returns the content as a stream; to be called once.
    func stream() -> InputStream { data.map { InputStream(data: $0) } ?? DescriptorStream(path: path) }
}

extension Invocation {
    /// Returns the method to send; `hasInput` says whether standard input has content.
    func effectiveMethod(hasInput: Bool) -> String {
        method ?? (hasInput ? "POST" : effectiveMethod)
    }
}
