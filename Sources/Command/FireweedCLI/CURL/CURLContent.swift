// The content of a curl command.

import CommandLanguage
import Fireweed
import Foundation

/// The content that `-d`, `-F` and `-T` give.
///
/// Files are read when the request is made.
struct CURLContent: Sendable, Equatable {
    /// How the value of an option becomes content.
    enum Form: Sendable, Equatable {
        /// `@file` names a file; its line breaks and NULs are left out.
        case text
        /// The value, unchanged.
        case raw
        /// `@file` names a file.
        case binary
        /// Percent-encoded.
        case escaped
        /// `@file` names a file; the pieces are not joined by `&`, and the type is JSON.
        case json
        /// A part of a form.
        case field
        /// A part of a form, whose value is literal.
        case literalField

        fileprivate var isPart: Bool { self == .field || self == .literalField }
    }

    /// One use of an option that gives content.
    struct Piece: Sendable, Equatable {
        let form: Form
        let option: String
        let value: [UInt8]
    }

    private(set) var pieces: [Piece] = []
    /// The files of `-T`: the first for the first URL, and so on; `-` and `.` are standard input.
    var uploads: [String] = []
    /// The first file of `-T`; `CURLTransfer.parts()` makes a transfer of each file.
    var upload: String? { uploads.first }
    var escapesByBackslash = false

    var isEmpty: Bool { pieces.isEmpty && upload == nil }
    var isForm: Bool { pieces.first?.form.isPart == true }
    var isJSON: Bool { pieces.contains { $0.form == .json } }
    /// The first option that gives content, for error messages.
    var option: String? { pieces.first?.option ?? upload.map { _ in "-T" } }

    mutating func add(_ form: Form, _ use: CURLUse) throws {
        if let first = pieces.first, first.form.isPart != form.isPart { throw Self.conflict(first.option, use.written) }
        if upload != nil { throw Self.conflict("-T", use.written) }
        pieces.append(Piece(form: form, option: use.written, value: use.value))
    }

    mutating func addUpload(_ use: CURLUse) throws {
        if let first = pieces.first { throw Self.conflict(first.option, use.written) }
        uploads.append(try use.text)
    }

    static func conflict(_ first: String, _ second: String) -> UsageError {
        UsageError(message: "\(first) and \(second) of the curl command exclude each other")
    }

    // MARK: Data

    /// Returns the content of `-d`, `--data-raw` and the like; throws `UsageError` for a file that cannot be read.
    func data() throws -> [UInt8] {
        var data: [UInt8] = []
        for (index, piece) in pieces.enumerated() {
            if index > 0, piece.form != .json { data.append(UInt8(ascii: "&")) }
            data += try Self.bytes(of: piece)
        }
        return data
    }

    static func bytes(of piece: Piece) throws -> [UInt8] {
        if piece.form == .escaped { return try escaped(piece.value) }
        guard piece.form != .raw, piece.value.first == UInt8(ascii: "@") else { return piece.value }
        let path = String(decoding: piece.value.dropFirst(), as: UTF8.self)
        let content = try LocalFile.data(path)
        return piece.form == .text ? content.filter { $0 != 0x0D && $0 != 0x0A && $0 != 0 } : Array(content)
    }

    /// Encodes a value of `--data-urlencode`: `content`, `=content`, `name=content`, `@file` or `name@file`.
    static func escaped(_ value: [UInt8]) throws -> [UInt8] {
        let separator =
            value.firstIndex(of: UInt8(ascii: "=")) ?? value.firstIndex(of: UInt8(ascii: "@")) ?? value.endIndex
        guard separator < value.endIndex else { return formEncoded(value) }
        var content = Array(value[(separator + 1)...])
        if value[separator] == UInt8(ascii: "@") {
            content = Array(try LocalFile.data(String(decoding: content, as: UTF8.self)))
        }
        let encoded = formEncoded(content)
        return separator == 0 ? encoded : value[..<separator] + [UInt8(ascii: "=")] + encoded
    }

    /// Percent-encodes bytes as in a form: a space is "+".
    private static func formEncoded(_ bytes: [UInt8]) -> [UInt8] {
        Array(
            bytes.split(separator: 0x20, omittingEmptySubsequences: false).map { percentEncoded(Array($0)) }
                .joined(separator: [UInt8(ascii: "+")]))
    }

    /// Percent-encodes all characters except RFC 3986's unreserved ones.
    static func percentEncoded(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        encoded.reserveCapacity(bytes.count)
        for byte in bytes {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: encoded.append(byte)
            default: encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return encoded
    }

    // MARK: Forms

    /// Returns the form of `-F`; throws `UsageError`.
    ///
    /// With a content type other than `multipart/form-data`, such as `multipart/mixed`, the disposition of the parts is
    /// `attachment`.
    func multipart(contentType: String?) throws -> MultipartFormData {
        let isForm = contentType.map { $0.lowercased().hasPrefix("multipart/form-data") } ?? true
        let form = MultipartFormData(boundary: Self.boundary())
        for piece in pieces {
            let use = CURLUse(written: piece.option, value: piece.value)
            let field =
                piece.form == .literalField
                ? CURLFormField(literally: try use.text) : try CURLFormField(try use.text, use)
            guard let field else {
                throw use.wrongValue("NAME=CONTENT is needed, and content with a ; in quotes of its own")
            }
            try append(field, isForm ? "form-data" : "attachment", to: form)
        }
        return form
    }

    /// Returns a boundary as long as that of curl 7.88, so that a form has the same length.
    private static func boundary() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "-", count: 24) + String(repeating: "0", count: 16 - digits.count) + digits
    }

    private func append(_ field: CURLFormField, _ kind: String, to form: MultipartFormData) throws {
        let disposition = field.name.isEmpty ? kind : "\(kind); name=\"\(escapedName(field.name))\""
        switch field.source {
        case .text(let text):
            try append(
                .data(Data(text.utf8)), disposition, field, fileName: field.fileName,
                type: field.type ?? field.fileName.flatMap(Self.type(ofFile:)), to: form)
        case .textOfFile(let path):
            try append(try .of(path), disposition, field, fileName: field.fileName, type: field.type, to: form)
        case .files(let files) where files.count == 1:
            try append(file: files[0], disposition, field, to: form)
        case .files(let files):
            let inner = MultipartFormData(boundary: Self.boundary())
            for file in files { try append(file: file, "attachment", nil, to: inner) }
            let type = inner.contentType.replacing("multipart/form-data", with: "multipart/mixed")
            try append(.data(try inner.encode()), disposition, field, fileName: nil, type: type, to: form)
        }
    }

    private func append(
        file: CURLFormField.File, _ disposition: String, _ field: CURLFormField?, to form: MultipartFormData
    ) throws {
        let name = file.fileName ?? (file.path == "-" ? "-" : (file.path as NSString).lastPathComponent)
        let type =
            file.type ?? file.fileName.flatMap(Self.type(ofFile:)) ?? Self.type(ofFile: file.path)
            ?? "application/octet-stream"
        try append(try .of(file.path), disposition, field, fileName: name, type: type, to: form)
    }

    /// The content of a part.
    private enum PartContent {
        case data(Data)
        case file(URL)

        /// Returns the content of a file, or of standard input for `-`; throws `UsageError`.
        ///
        /// A regular file is read as the form is sent, and again when the form is sent again; everything else is read
        /// now.
        static func of(_ path: String) throws -> PartContent {
            guard path != "-", try LocalFile.isRegular(path) else { return .data(try LocalFile.data(path)) }
            return .file(URL(fileURLWithPath: path, isDirectory: false))
        }
    }

    private func append(
        _ content: PartContent, _ disposition: String, _ field: CURLFormField?, fileName: String?, type: String?,
        to form: MultipartFormData
    ) throws {
        var headers: HTTPHeaders = [
            "Content-Disposition": disposition + (fileName.map { "; filename=\"\(escapedName($0))\"" } ?? "")
        ]
        if let type { headers.add(name: "Content-Type", value: type) }
        for line in field?.fieldLines ?? [] {
            let halves = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            if halves.count == 2 { headers.add(name: halves[0], value: halves[1]) }
        }
        try RequestPlan.check(headers)
        switch content {
        case .data(let data): form.append(data, headers)
        case .file(let file): form.append(file, headers)
        }
    }

    /// Escapes a name for quotes, as browsers do (WHATWG HTML §4.10.21.8), or with backslashes (`--form-escape`).
    private func escapedName(_ text: String) -> String {
        if escapesByBackslash { return text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") }
        return text.replacing("\"", with: "%22").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
    }

    /// Returns the media type that curl derives from the extension of a file's name; `nil` for other extensions.
    private static func type(ofFile name: String) -> String? {
        let types = [
            "gif": "image/gif", "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "svg": "image/svg+xml",
            "txt": "text/plain", "htm": "text/html", "html": "text/html", "pdf": "application/pdf",
            "xml": "application/xml",
        ]
        return types[(name as NSString).pathExtension.lowercased()]
    }
}
