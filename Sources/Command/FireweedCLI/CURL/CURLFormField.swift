// The value of curl's `-F`; pure, except that it reads the files of `headers=@`.

import CommandLanguage
import Fireweed
import Foundation

/// A form field: `name=content`, `name=@file,file` or `name=<file`, each with optional `;type=…`, `;filename=…` and
/// `;headers=…`.
struct CURLFormField: Equatable {
    /// A file with its own parameters.
    struct File: Equatable {
        let path: String
        var type: String?
        var fileName: String?
    }

    enum Source: Equatable {
        case text(String)
        /// Files, each of which is sent with a file name.
        case files([File])
        /// A file whose content is the value of the field.
        case textOfFile(path: String)
    }

    let name: String
    private(set) var source: Source
    private(set) var type: String?
    private(set) var fileName: String?
    private(set) var fieldLines: [String] = []

    /// Makes a field with a literal value, as `--form-string` does; `nil` without a `=`.
    init?(literally text: String) {
        guard let equals = text.firstIndex(of: "=") else { return nil }
        name = String(text[..<equals])
        source = .text(String(text[text.index(after: equals)...]))
    }

    /// Reads a value of `-F`; `nil` without a `=`, and for parameters that curl does not know.
    ///
    /// Throws `UsageError` for nested forms and for `encoder=`, which are not supported, and for a file of `headers=@`
    /// that cannot be read.
    init?(_ text: String, _ use: CURLUse) throws {
        guard let literal = CURLFormField(literally: text), case .text(let value) = literal.source else { return nil }
        self = literal
        // `@`, `<` and `(` count only as the first character; spaces before names and texts do not count.
        var rest = Substring(value)
        switch rest.first {
        case "@":
            var files: [File] = []
            repeat {
                rest = rest.dropFirst().drop(while: Self.isBlank)
                let path = Self.word(&rest, ending: ";,")
                guard try readParameters(&rest, use, ending: ";,") else { return nil }
                files.append(File(path: path, type: type, fileName: fileName))
                (type, fileName) = (nil, nil)
            } while rest.first == ","
            source = .files(files)
        case "<":
            rest = rest.dropFirst().drop(while: Self.isBlank)
            source = .textOfFile(path: Self.word(&rest, ending: ";"))
            guard try readParameters(&rest, use, ending: ";") else { return nil }
        case "(":
            throw use.wrongValue("a form within a form cannot be made")
        default:
            rest = rest.drop(while: Self.isBlank)
            source = .text(Self.word(&rest, ending: ";"))
            guard try readParameters(&rest, use, ending: ";") else { return nil }
        }
        if !rest.isEmpty { return nil }
    }

    private static func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }

    /// Reads `;type=…`, `;filename=…` and `;headers=…`; returns false for another parameter, unless it follows `type=`
    /// and so belongs to the type.
    private mutating func readParameters(_ rest: inout Substring, _ use: CURLUse, ending: String) throws -> Bool {
        var followsType = false
        while rest.first == ";" {
            rest = rest.dropFirst()
            let spaces = rest.prefix { $0 == " " }
            rest = rest.dropFirst(spaces.count)
            if rest.hasPrefix("type=") {
                rest = rest.dropFirst("type=".count)
                type = Self.word(&rest, ending: ending)
                followsType = true
            } else if rest.hasPrefix("filename=") {
                rest = rest.dropFirst("filename=".count)
                fileName = Self.word(&rest, ending: ending)
                followsType = false
            } else if rest.hasPrefix("headers=") {
                rest = rest.dropFirst("headers=".count)
                let isFile = rest.first.map { "@<".contains($0) } ?? false
                if isFile { rest = rest.dropFirst() }
                let word = Self.word(&rest, ending: ending)
                fieldLines += isFile ? try Self.lines(ofFile: word) : [word]
                followsType = false
            } else if rest.hasPrefix("encoder=") {
                throw use.wrongValue("encoder= cannot be carried out")
            } else if followsType {
                type = "\(type ?? "");\(spaces)\(Self.word(&rest, ending: ending))"
            } else {
                return false
            }
        }
        return true
    }

    private static func lines(ofFile path: String) throws -> [String] {
        try LocalFile.text(path).split(whereSeparator: \.isNewline)
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }

    private static func word(_ rest: inout Substring, ending: String) -> String {
        let word = CURLFormText.word(&rest, endingAt: ending)
        return word.isQuoted ? word.text : word.text.trimmingSuffix(" ")
    }
}

extension String {
    fileprivate func trimmingSuffix(_ character: Character) -> String {
        var text = self
        while text.last == character { text.removeLast() }
        return text
    }
}
