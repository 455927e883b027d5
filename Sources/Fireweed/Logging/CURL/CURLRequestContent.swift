// The request content of a curl command.

import Foundation

/// Collects the content of `-d` and similar options, of `-F`, or of `-T`.
struct CURLRequestContent {
    let files: CURLFiles
    private(set) var data: [UInt8]?
    private(set) var isJSON = false
    private(set) var form: MultipartFormData?
    /// The first option that gave content; error messages name it.
    private(set) var option: String?

    init(files: CURLFiles) {
        self.files = files
    }

    /// A file that is the whole content.
    struct Upload {
        var content: [UInt8]
        /// The file's name; `nil` for standard input.
        var name: String?
    }

    mutating func upload(_ argument: CURLArgument, path: String) throws -> Upload {
        if let option { throw CURLParsingError.conflictingOptions(option, argument.written) }
        option = argument.written
        let name = path == "-" ? nil : URL(fileURLWithPath: path).lastPathComponent
        return Upload(content: try files.content(of: path, for: argument.written), name: name)
    }

    mutating func add(_ argument: CURLArgument, as kind: CURLDataForm) throws {
        guard form == nil, option == nil || data != nil else {
            throw CURLParsingError.conflictingOptions(option ?? "-F", argument.written)
        }
        option = option ?? argument.written
        let piece = try bytes(of: argument, as: kind)
        isJSON = isJSON || kind == .json
        guard let data else {
            self.data = piece
            return
        }
        self.data = data + (kind == .json ? [] : [UInt8(ascii: "&")]) + piece
    }

    private func bytes(of argument: CURLArgument, as kind: CURLDataForm) throws -> [UInt8] {
        let value = argument.value
        if kind == .escaped { return try escaped(argument) }
        guard kind != .raw, value.first == UInt8(ascii: "@") else { return value }
        let path = String(decoding: value.dropFirst(), as: UTF8.self)
        let content = try files.content(of: path, for: argument.written)
        // curl drops carriage returns, line feeds and NULs of a text file.
        return kind == .text ? content.filter { ![0x0D, 0x0A, 0x00].contains($0) } : content
    }

    /// `content`, `=content`, `name=content`, `@file`, `name@file`.
    private func escaped(_ argument: CURLArgument) throws -> [UInt8] {
        let value = argument.value
        let separator =
            value.firstIndex(of: UInt8(ascii: "=")) ?? value.firstIndex(of: UInt8(ascii: "@")) ?? value.endIndex
        guard separator < value.endIndex else { return Self.escape(value) }
        var content = Array(value[(separator + 1)...])
        if value[separator] == UInt8(ascii: "@") {
            content = try files.content(of: String(decoding: content, as: UTF8.self), for: argument.written)
        }
        return separator == 0 ? Self.escape(content) : value[..<separator] + [UInt8(ascii: "=")] + Self.escape(content)
    }

    /// Percent-encodes all characters except the unreserved characters of RFC 3986.
    private static func escape(_ bytes: [UInt8]) -> [UInt8] {
        bytes.flatMap { byte -> [UInt8] in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: [byte]
            default: Array(String(format: "%%%02X", byte).utf8)
            }
        }
    }

    mutating func add(_ field: CURLFormField, of option: String) throws {
        guard data == nil, self.option == nil || form != nil else {
            throw CURLParsingError.conflictingOptions(self.option ?? "-d", option)
        }
        self.option = self.option ?? option
        let form = form ?? MultipartFormData()
        self.form = form
        switch field.source {
        case .text(let text):
            form.append(Data(text.utf8), withName: field.name, fileName: field.fileName, mimeType: field.type)
        case .textOfFile(let path):
            let content = Data(try files.content(of: path, for: option))
            form.append(content, withName: field.name, fileName: field.fileName, mimeType: field.type)
        case .file(let path):
            let name = field.fileName ?? (path == "-" ? path : URL(fileURLWithPath: path).lastPathComponent)
            let type = field.type ?? MediaTypes.type(ofExtension: URL(fileURLWithPath: name).pathExtension)
            let content = Data(try files.content(of: path, for: option))
            form.append(content, withName: field.name, fileName: name, mimeType: type)
        }
    }
}
