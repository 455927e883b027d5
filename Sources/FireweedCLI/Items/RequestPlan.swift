// From an invocation to what is sent.

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
        case multipart(MultipartFormData)
    }

    let url: URL
    let method: HTTPMethod
    let headers: HTTPHeaders
    let removedHeaders: [String]
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
        url = try Self.url(invocation)
        method = HTTPMethod(rawValue: invocation.effectiveMethod(hasInput: standardInput != nil))
        content = try Self.content(invocation, standardInput)
        var headers = HTTPHeaders()
        switch content {
        case .data(_, let type), .file(_, let type), .input(_, let type): headers.add(.contentType(type))
        case .none, .multipart: break
        }
        if invocation.bodyForm == .json, case .data = content, invocation.items.contains(where: \.isData) {
            headers.add(.accept("application/json, */*;q=0.5"))
        }
        for item in invocation.items {
            switch item.kind {
            case .header: headers.update(name: item.name, value: item.value.trimmingCharacters(in: .whitespaces))
            case .emptyHeader: headers.update(name: item.name, value: "")
            default: break
            }
        }
        removedHeaders = invocation.items.filter { $0.kind == .removedHeader }.map(\.name)
        for name in removedHeaders { headers.remove(name: name) }
        self.headers = headers
        timeout = nil
    }

    /// Refuses what no field can hold (RFC 9110 §5.1, §5.5): it would be left out, or begin a field of its own.
    static func check(_ headers: HTTPHeaders) throws {
        for header in headers {
            let isToken = header.name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
            guard isToken, !header.name.isEmpty else {
                throw UsageError(message: "\"\(header.name)\" is no name of a header field")
            }
            guard !header.value.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) else {
                throw UsageError(message: "the value of the field \(header.name) has a line break or a NUL in it")
            }
        }
    }

    /// Makes a plan of a curl command, whose files are looked for in the present folder.
    private init(_ command: String) throws {
        let request: URLRequest
        do {
            let folder = URL(fileURLWithPath: FileManager.default.currentDirectoryPath, isDirectory: true)
            request = try URLRequest(cURL: command, readingFilesIn: folder)
        } catch let error as CURLParsingError {
            throw UsageError(message: error.localizedDescription)
        }
        guard let url = request.url else { throw UsageError(message: "the curl command has no URL") }
        self.url = url
        method = request.method ?? .get
        headers = request.headers
        removedHeaders = []
        content = request.httpBody.map { .data($0, type: request.headers["Content-Type"] ?? "") } ?? .none
        timeout = request.timeoutInterval == URLRequest(url: url).timeoutInterval ? nil : request.timeoutInterval
    }

    private static func url(_ invocation: Invocation) throws -> URL {
        guard var components = URLComponents(string: invocation.url) else {
            throw UsageError(message: "\"\(invocation.url)\" is no URL")
        }
        let added = invocation.items.filter { $0.kind == .query }
            .map { "\(URLEncoding.default.escape($0.name))=\(URLEncoding.default.escape($0.value))" }
        if !added.isEmpty {
            let present = components.percentEncodedQuery.map { [$0] } ?? []
            components.percentEncodedQuery = (present + added).joined(separator: "&")
        }
        guard let url = components.url else { throw UsageError(message: "\"\(invocation.url)\" is no URL") }
        return url
    }

    private static func content(_ invocation: Invocation, _ standardInput: StandardInput.Content?) throws -> Content {
        if let raw = invocation.rawBody { return .data(Data(raw.utf8), type: "text/plain; charset=utf-8") }
        if let path = invocation.uploadFile {
            guard FileManager.default.isReadableFile(atPath: path) else {
                throw UsageError(message: "the file \(path) cannot be read")
            }
            let url = URL(fileURLWithPath: path)
            return .file(url, type: MediaTypes.type(ofExtension: url.pathExtension))
        }
        let items = invocation.items.filter(\.isData)
        guard !items.isEmpty else {
            switch standardInput {
            case .data(let data): return .data(data, type: "application/json")
            case .file(let file): return .file(file, type: "application/json")
            case .rest(let rest): return .input(rest, type: "application/json")
            case nil: return .none
            }
        }
        if invocation.bodyForm == .json { return .data(try json(items), type: "application/json") }
        if items.contains(where: \.isFile) { return .multipart(try multipart(items)) }
        let pairs = try items.map {
            "\(URLEncoding.default.escape($0.name))=\(URLEncoding.default.escape(try text(of: $0)))"
        }
        return .data(Data(pairs.joined(separator: "&").utf8), type: "application/x-www-form-urlencoded; charset=utf-8")
    }

    /// An object with the fields in the order of the command line, and JSON as it was written.
    private static func json(_ items: [Item]) throws -> Data {
        let members = try items.map { item -> String in
            let text = try text(of: item)
            let isJSON = item.kind == .json || item.kind == .jsonFromFile
            if isJSON, (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) == nil {
                throw UsageError(message: "the value of \(item.name) is no JSON: \(text.prefix(60))")
            }
            return
                "\(try quoted(item.name)): \(isJSON ? text.trimmingCharacters(in: .whitespacesAndNewlines) : try quoted(text))"
        }
        return Data("{\(members.joined(separator: ", "))}".utf8)
    }

    private static func quoted(_ text: String) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return String(decoding: try encoder.encode(text), as: UTF8.self)
    }

    private static func multipart(_ items: [Item]) throws -> MultipartFormData {
        let form = MultipartFormData()
        for item in items {
            if item.isFile {
                guard FileManager.default.isReadableFile(atPath: item.value) else {
                    throw UsageError(message: "the file \(item.value) cannot be read")
                }
                form.append(URL(fileURLWithPath: item.value), withName: item.name)
            } else {
                form.append(Data(try text(of: item).utf8), withName: item.name)
            }
        }
        return form
    }

    private static func text(of item: Item) throws -> String {
        guard item.kind == .textFromFile || item.kind == .jsonFromFile else { return item.value }
        guard let data = FileManager.default.contents(atPath: item.value) else {
            throw UsageError(message: "the file \(item.value) cannot be read")
        }
        guard let text = String(data: data, encoding: .utf8) else {
            throw UsageError(
                message: "the file \(item.value) is no UTF-8 text; send it with --form and \(item.name)@\(item.value)")
        }
        return text
    }
}

extension Invocation {
    /// The method to send, when content comes from standard input too.
    func effectiveMethod(hasInput: Bool) -> String {
        method ?? (hasInput ? "POST" : effectiveMethod)
    }
}
