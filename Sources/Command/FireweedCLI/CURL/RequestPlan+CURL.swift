// The message of a curl command.

import CLinux
import CommandLanguage
import Fireweed
import Foundation
import Glibc

/// The fields of a message, as a curl command gives them.
struct CURLFields {
    private(set) var lines: [Field] = []
    private(set) var removedNames: [String] = []

    /// Reads the lines of `-H`: `Name: value`; `Name;` is a field without a value, and `Name:` removes a field that
    /// would be added.
    init(_ texts: [String]) throws {
        for text in texts {
            // Searches scalars, as curl searches bytes: in a `Character`, a combining mark after the colon would hide
            // the colon.
            let scalars = text.unicodeScalars
            // curl ignores a line with neither a colon nor a semicolon.
            guard let end = scalars.firstIndex(where: { $0 == ":" || $0 == ";" }), end > scalars.startIndex else {
                continue
            }
            let name = String(scalars[..<end])
            let value = String(scalars[scalars.index(after: end)...]).trimmingCharacters(in: .whitespaces)
            if scalars[end] == ";" {
                // curl ignores a line with text after the semicolon.
                if text.hasSuffix(";"), value.isEmpty { lines.append(Field(name: name, value: "")) }
            } else if value.isEmpty {
                removedNames.append(name)
            } else {
                lines.append(Field(name: name, value: value))
            }
        }
        // A message has one `Host`: curl takes the first.
        if let host = value("Host") {
            remove("Host")
            lines.append(Field(name: "Host", value: host))
        }
        let names = Set(lines.map { $0.name.lowercased() })
        removedNames.removeAll { names.contains($0.lowercased()) }
    }

    /// Returns the values of the lines with a name, in their order.
    func values(_ name: String) -> [String] {
        lines.filter { $0.name.isEqualIgnoringASCIICase(name) }.map(\.value)
    }

    /// Returns the value of the first line with a name.
    func value(_ name: String) -> String? { values(name).first }

    /// Adds a field that curl adds, unless the command has or removes it, or the value is empty.
    mutating func addDefault(_ name: String, _ value: String?) {
        guard let value, !value.isEmpty, self.value(name) == nil,
            !removedNames.contains(where: name.isEqualIgnoringASCIICase)
        else { return }
        lines.append(Field(name: name, value: value))
    }

    mutating func remove(_ name: String) {
        lines.removeAll { $0.name.isEqualIgnoringASCIICase(name) }
    }

    mutating func replace(_ name: String, _ value: String) {
        remove(name)
        lines.append(Field(name: name, value: value))
    }

    mutating func omit(_ name: String) { removedNames.append(name) }
}

extension CURLTransfer {
    /// Returns the fields of the message, and its content; reads the files that the command names.
    ///
    /// Throws `UsageError`.
    func message(
        for url: URL, _ standardInput: StandardInput.Content?
    ) throws -> (fields: CURLFields, content: RequestPlan.Content) {
        var fields = try CURLFields(fieldLines)
        if let userAgent {
            if userAgent.isEmpty { fields.omit("User-Agent") } else { fields.addDefault("User-Agent", userAgent) }
        }
        fields.addDefault("Referer", referer)
        // A `Cookie` field of `-H` replaces the cookies of `-b NAME=VALUE`; cookies from files are sent in both cases.
        fields.addDefault("Cookie", cookies.joined(separator: ";"))
        // The transport sends its own.
        for name in ["Keep-Alive", "Proxy-Connection"] { fields.remove(name) }
        if let range { fields.addDefault("Range", "bytes=\(range.contains("-") ? range : "\(range)-")") }
        if let offset = try startOffset, offset > 0, content.upload == nil {
            fields.addDefault("Range", "bytes=\(offset)-")
        }
        if let timeCondition { try addCondition(timeCondition, to: &fields) }
        if let comparedTagFile {
            let tag =
                FileManager.default.contents(atPath: comparedTagFile)
                .map { String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines) } ?? ""
            fields.addDefault("If-None-Match", tag.isEmpty ? "\"\"" : tag)
        }
        let content = try requestContent(&fields, standardInput)
        return (fields, content)
    }

    private func requestContent(
        _ fields: inout CURLFields, _ standardInput: StandardInput.Content?
    ) throws -> RequestPlan.Content {
        if let path = content.upload { return try upload(path, &fields, standardInput) }
        if content.isForm {
            let type = fields.value("Content-Type")
            let form = try content.multipart(contentType: type)
            // A large form is streamed, since it should not be held in memory.
            if type == nil, form.contentLength > 1 << 20 { return .multipart(form) }
            // As curl does, also after a boundary of the command's own: the last one is that of the content.
            fields.replace("Content-Type", "\(type ?? "multipart/form-data"); boundary=\(form.boundary)")
            // Encoded in memory, so that the form can be sent again: to another URL, and after a challenge.
            return .data(try form.encode(), type: "")
        }
        if content.isJSON { fields.addDefault("Accept", "application/json") }
        guard !content.isEmpty, !sendsDataInQuery else { return .none }
        fields.addDefault(
            "Content-Type", content.isJSON ? "application/json" : "application/x-www-form-urlencoded")
        return .data(Data(try content.data()), type: "")
    }

    private func upload(
        _ path: String, _ fields: inout CURLFields, _ standardInput: StandardInput.Content?
    ) throws -> RequestPlan.Content {
        fields.addDefault("Expect", "100-continue")
        guard path != "-", path != "." else {
            // With a `Content-Length` field, content in memory is sent with its length instead of in chunks.
            let hasLength = fields.value("Content-Length") != nil
            fields.remove("Content-Length")
            switch standardInput {
            case .data(let data) where hasLength: return .data(data, type: "")
            case .data(let data): return .stream(FileStream(data: data), type: "")
            case .file(let file): return .stream(FileStream(path: file.path), type: "")
            case .rest(let rest): return .input(rest, type: "")
            case nil: return .stream(FileStream(data: Data()), type: "")
            }
        }
        guard let offset, let start = offset == "-" ? 0 : Int(offset) else {
            if try LocalFile.isRegular(path) { return .file(URL(fileURLWithPath: path), type: "") }
            return .stream(FileStream(path: path), type: "")
        }
        let data = try LocalFile.data(path)
        guard start == 0 || start < data.count else {
            throw UsageError(message: "-C \(start) is behind the end of \(path)")
        }
        if !data.isEmpty { fields.addDefault("Content-Range", "bytes \(start)-\(data.count - 1)/\(data.count)") }
        return .data(data.dropFirst(start), type: "")
    }

    /// The number of bytes to skip: that of `-C`, or for `-C -` the length of the existing file.
    var startOffset: Int64? {
        get throws {
            guard let offset else { return nil }
            guard offset == "-" else { return Int64(offset) }
            guard content.upload == nil, let file = try file(ofURL: 0, urls[0]) else { return nil }
            return LocalFile.status(file).map { Int64($0.st_size) }
        }
    }

    /// Adds the condition of `-z`: a date, or a file whose modification time is used; a minus asks for older content.
    private func addCondition(_ text: String, to fields: inout CURLFields) throws {
        guard let condition = CURLTimeCondition(text) else {
            // curl warns, and sends the request without the condition.
            let word = CURLTimeCondition.word(text)
            return Terminal.tell("fireweed: \"\(word)\" is not a date, and no file; -z has no effect\n")
        }
        fields.addDefault(
            condition.asksForOlder ? "If-Unmodified-Since" : "If-Modified-Since",
            HTTPDate.text(of: condition.date))
    }
}

extension RequestPlan {
    /// Makes the plan of a curl command, for the first of its URLs; throws `UsageError`.
    init(_ transfer: CURLTransfer, _ invocation: Invocation, _ standardInput: StandardInput.Content?) throws {
        guard let url = invocation.parsedURL else { throw UsageError(message: "the curl command has no URL") }
        var (fields, content) = try transfer.message(for: url, standardInput)
        if case .none = content, fields.value("Transfer-Encoding") != nil { fields.remove("Transfer-Encoding") }
        self.init(
            url: url, method: HTTPMethod(rawValue: transfer.effectiveMethod), lines: fields.lines,
            removedHeaders: fields.removedNames, content: content)
    }
}
