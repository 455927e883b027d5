// From an invocation to what is sent.

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
    /// The fields of the command line, in its order; `headers` has those of one name joined.
    let lines: [Field]
    let content: Content
    /// Seconds without a byte after which to give up, where the request has its own word for it.
    let timeout: Double?

    /// Makes a plan; reads the files that items name.
    ///
    /// Throws `UsageError`, and what reading throws.
    init(_ invocation: Invocation, standardInput: StandardInput.Content? = nil) throws {
        if let command = invocation.curlCommand {
            self = try RequestPlan(command)
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
        // Several fields of one name are one list (RFC 9110 §5.3), and only cookies are separated by ";" (RFC 6265
        // §4.2).
        for same in Self.byName(lines) {
            let separator = same[0].name.isEqualIgnoringASCIICase("Cookie") ? "; " : ", "
            headers.update(name: same[0].name, value: same.map(\.value).joined(separator: separator))
        }
        let names = Set(lines.map { $0.name.lowercased() })
        removedHeaders = invocation.items.filter { $0.kind == .removedHeader }.map(\.name)
            .filter { !names.contains($0.lowercased()) }
        for name in removedHeaders { headers.remove(name: name) }
        self.headers = headers
        timeout = nil
    }

    /// The field that an item is; `nil` for other items.
    private static func line(_ item: Item) throws -> Field? {
        switch item.kind {
        case .header: Field(name: item.name, value: item.value.trimmingCharacters(in: .whitespaces))
        case .headerFromFile:
            Field(name: item.name, value: try LocalFile.line(item.value, for: item.name))
        case .emptyHeader: Field(name: item.name, value: "")
        default: nil
        }
    }

    /// The lines of each name, in the order in which the names come first.
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

    /// Refuses what no field can hold (RFC 9110 §5.1, §5.5): it would be left out, or begin a field of its own.
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
    }

    /// Makes a plan of a curl command, whose files are looked for in the present folder.
    private init(_ command: String) throws {
        let request: URLRequest
        var removedHeaders: [String] = []
        do {
            let folder = URL(fileURLWithPath: FileManager.default.currentDirectoryPath, isDirectory: true)
            request = try URLRequest(
                cURL: command, readingFilesIn: folder, acceptingSessionOptions: true,
                removedFields: &removedHeaders)
        } catch let error as CURLParsingError {
            throw UsageError(message: error.localizedDescription)
        }
        guard let url = request.url else { throw UsageError(message: "the curl command has no URL") }
        self.url = url
        query = []
        lines = []
        method = request.method ?? .get
        headers = request.headers
        self.removedHeaders =
            removedHeaders
            .filter { request.value(forHTTPHeaderField: $0) == nil }
        content = request.httpBody.map { .data($0, type: request.headers["Content-Type"] ?? "") } ?? .none
        timeout = request.timeoutInterval == URLRequest(url: url).timeoutInterval ? nil : request.timeoutInterval
    }

    /// The same request for another URL.
    func with(url: URL) -> RequestPlan {
        var plan = self
        plan.url = url
        return plan
    }

    /// The URL of an invocation with the query of this request; throws `UsageError` for a text that is not a URL.
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
        if let raw = invocation.rawBody { return .data(Data(raw.utf8), type: "text/plain; charset=utf-8") }
        if let path = invocation.uploadFile, path != "-" {
            let url = URL(fileURLWithPath: path)
            let type = MediaTypes.type(ofExtension: url.pathExtension)
            if try LocalFile.isRegular(path) { return .file(url, type: type) }
            return .stream(FileStream(path: path), type: type)
        }
        let items = invocation.items.filter(\.isData)
        guard !items.isEmpty else {
            switch standardInput {
            case .data(let data): return .data(data, type: "application/json")
            case .file(let file): return .file(file, type: "application/json")
            case .rest(let rest): return .input(rest, type: "application/json")
            case nil: return invocation.uploadFile == nil ? .none : .data(Data(), type: "application/json")
            }
        }
        if invocation.bodyForm == .json { return .data(try json(items), type: "application/json") }
        if invocation.bodyForm == .multipart || items.contains(where: \.isFile) {
            return .multipart(try multipart(items, boundary: invocation.boundary))
        }
        let pairs = try items.map {
            "\(URLEncoding.default.escape($0.name))=\(URLEncoding.default.escape(try text(of: $0)))"
        }
        return .data(Data(pairs.joined(separator: "&").utf8), type: "application/x-www-form-urlencoded; charset=utf-8")
    }

    /// The value that the items make, in the order of the command line, with JSON as it was written.
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
                // What has no length is read first: a part announces none, but the whole form does.
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

/// A fifo, a device or a pipe of the shell's, which is read as it is sent.
struct FileStream: Sendable {
    let path: String

    /// The content as a stream; to be called once.
    func stream() -> InputStream { DescriptorStream(path: path) }
}

extension Invocation {
    /// The method to send, when content comes from standard input too.
    func effectiveMethod(hasInput: Bool) -> String {
        method ?? (hasInput ? "POST" : effectiveMethod)
    }
}
