// Parsing of curl commands, with the files and environment variables that their options name.

import CommandLanguage
import Fireweed
import Foundation
import Glibc

/// Reads curl commands.
struct CURLReader {
    private let base: Invocation
    /// The long names of curl's options that the command line takes back.
    private let ignored: Set<String>
    private(set) var invocations: [Invocation] = []
    private var invocation: Invocation
    private var transfer = CURLTransfer()
    private var variables = CURLVariables()
    private var configurationDepth = 0
    private let defaultScheme: Invocation.AuthenticationType?

    /// Returns the invocations of a command, one or more for each of the parts that `--next` separates; throws
    /// `UsageError`.
    ///
    /// The command's options are added to `base`, after curl's own defaults for redirects and time-outs. `ignored` are
    /// names of our options that the command line takes back.
    static func invocations(
        of command: String, base: Invocation, ignoring ignored: Set<String>
    ) throws -> [Invocation] {
        var reader = CURLReader(base, ignoring: Set(ignored.flatMap { curlNames[$0] ?? [String($0.dropFirst(2))] }))
        try reader.read(words(of: command))
        try reader.endTransfer(isLast: true)
        return reader.invocations
    }

    /// curl's names of options that have another name here.
    private static let curlNames = [
        "--auth": ["user", "oauth2-bearer"], "--continue": ["continue-at"], "--upload": ["upload-file"],
        "--output": ["output", "remote-name", "remote-name-all", "remote-header-name"],
        "--download": ["remote-name", "remote-name-all", "remote-header-name"],
        "--fail-with-body": ["fail", "fail-with-body"],
        "--cert-key-pass": ["pass"], "--pin": ["pinnedpubkey"], "--check-status": ["fail"],
    ]

    /// Throws `UsageError` for an option that `--no-NAME` takes back, and that no curl command can have.
    static func checkKnows(_ use: OptionUse) throws {
        let names = use.option.names.filter { $0.hasPrefix("--") }
        guard
            !names.contains(where: { name in
                (curlNames[name] ?? [String(name.dropFirst(2))]).contains { CURLRow.exactly($0) != nil }
            })
        else { return }
        throw UsageError(message: "\(use.written) takes back nothing of a curl command; leave the option out there")
    }

    private init(_ base: Invocation, ignoring ignored: Set<String>) {
        self.ignored = ignored
        var base = base
        // curl's defaults: redirects only with `-L`, at most 50 of them, and no time-out.
        base.followsRedirects = false
        base.maximumRedirectCount = 50
        base.timeout = nil
        // The scheme of the defaults is that of their credentials, not of the command's.
        defaultScheme = base.authenticationType
        base.authenticationType = nil
        (self.base, invocation) = (base, base)
    }

    // MARK: Words

    private static func words(of command: String) throws -> [[UInt8]] {
        let command = withoutFence(command)
        try refuseOtherShells(command)
        if let scalar = outsideQuotes(command).unicodeScalars.first(where: invisible.contains) {
            let code = String(scalar.value, radix: 16, uppercase: true)
            throw UsageError(
                message: "the command has an invisible character, U+\(code); type a blank there, or nothing")
        }
        let home = getenv("HOME").map { String(cString: $0) }
        var tokens: ArraySlice<ShellToken>
        do { tokens = try ShellWords.tokens(of: command, home: home)[...] } catch let error as CURLParsingError {
            throw UsageError(message: error.plainText)
        }
        if tokens.first == .word(Array("$".utf8)) { tokens = tokens.dropFirst() }  // a prompt
        guard case .word(let word)? = tokens.popFirst() else {
            throw UsageError(message: "--from-curl needs a command that begins with curl")
        }
        let program = String(decoding: word, as: UTF8.self)
        guard ["curl", "curl.exe"].contains(program.split(separator: "/").last.map(String.init)) else {
            if tokens.contains(.word(Array("curl".utf8))) {
                throw UsageError(message: "the command begins with \(program); leave out what stands before curl")
            }
            throw UsageError(message: "the command is \(program), not curl")
        }
        // A browser's "Copy all as cURL" separates commands with `;`, on Windows with `&`. One separator may remain
        // behind a command that was copied from the list.
        if let last = tokens.last, last == .control(";") || last == .control("&") { tokens = tokens.dropLast() }
        return try tokens.map { token in
            guard case .control(let text) = token else {
                if case .word(let word) = token { return word }
                return []
            }
            switch text {
            case "\n": throw UsageError(message: "a second line stands behind the curl command; leave it out")
            case "|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1", "&>":
                throw UsageError(
                    message: "\(text) and what follows it is for the shell; put it behind fireweed's command")
            default: throw UsageError(message: "only a shell could understand \(text); write what it would become")
            }
        }
    }

    /// Characters of web pages and files that look like nothing, or like a blank: a byte order mark, spaces without a
    /// line break, without width.
    private static let invisible: Set<Unicode.Scalar> = ["\u{FEFF}", "\u{A0}", "\u{200B}", "\u{202F}", "\u{2060}"]

    /// Returns the command without the lines of Markdown's code fence around it.
    private static func withoutFence(_ command: String) -> String {
        var lines = command.trimmingCharacters(in: .whitespacesAndNewlines).split(
            omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        guard lines.count > 2, ["```", "~~~"].contains(lines[0].prefix(3)),
            lines[lines.count - 1].trimmingPrefix(while: \.isWhitespace) == lines[0].prefix(3)
        else { return command }
        lines.removeFirst()
        lines.removeLast()
        return lines.joined(separator: "\n")
    }

    /// Returns the command without the text between the quotes of a POSIX shell; the quotes themselves stay.
    private static func outsideQuotes(_ command: String) -> String {
        var (outside, quote, hasEscapes) = (String.UnicodeScalarView(), nil as Unicode.Scalar?, true)
        var (isEscaped, last) = (false, " " as Unicode.Scalar)
        for scalar in command.unicodeScalars {
            defer { last = scalar }
            if isEscaped {
                isEscaped = false
                if quote == nil { outside.append(scalar) }
            } else if scalar == "\\", hasEscapes {
                isEscaped = true
            } else if let open = quote {
                guard scalar == open else { continue }
                (quote, hasEscapes) = (nil, true)
                outside.append(scalar)
            } else {
                outside.append(scalar)
                guard scalar == "'" || scalar == "\"" else { continue }
                // Single quotes have no escapes, unless a `$` is in front of them.
                (quote, hasEscapes) = (scalar, scalar == "\"" || last == "$")
            }
        }
        return String(outside)
    }

    /// Refuses commands that a browser has copied for PowerShell or cmd.exe, whose rules for quotes differ.
    private static func refuseOtherShells(_ command: String) throws {
        let text = outsideQuotes(command.trimmingCharacters(in: .whitespacesAndNewlines))
        let isPowerShell =
            ["invoke-webrequest", "iwr ", "$session"].contains { text.lowercased().hasPrefix($0) }
            || text.contains("`\n") || text.contains("`\r\n")
        if isPowerShell {
            throw UsageError(message: "this command is for PowerShell; choose \"Copy as cURL (bash)\" in the browser")
        }
        if text.contains("^\"") || text.contains(" ^\n") || text.contains(" ^\r\n") {
            throw UsageError(message: "this command is for cmd.exe; choose \"Copy as cURL (bash)\" in the browser")
        }
    }

    private mutating func read(_ words: [[UInt8]]) throws {
        var rest = words[...]
        var readsOptions = true
        while let word = rest.popFirst() {
            let text = String(decoding: word, as: UTF8.self)
            if readsOptions, text == "--" {
                readsOptions = false
            } else if readsOptions, text.hasPrefix("--") {
                try readLong(word, &rest)
            } else if readsOptions, text.hasPrefix("-"), text != "-" {
                try readShort(word, &rest)
            } else if readsOptions, let first = text.unicodeScalars.first, (0x2010...0x2015).contains(first.value) {
                // Web pages show hyphens as dashes.
                throw UsageError(message: "\(text) begins with a dash of typography; type a hyphen, -, there")
            } else if [text.unicodeScalars.first, text.unicodeScalars.last].contains(where: {
                $0.map { (0x2018...0x201F).contains($0.value) } ?? false
            }) {
                throw UsageError(message: "\(text) has a quote of typography; type ' or \" there")
            } else {
                transfer.urls.append(try CURLUse(written: "the URL", value: word).text)
            }
        }
    }

    private mutating func readLong(_ word: [UInt8], _ rest: inout ArraySlice<[UInt8]>) throws {
        // Accepts `--data=x`, which curl refuses, since documentation often has it.
        let nameBytes = word.dropFirst(2).prefix { $0 != UInt8(ascii: "=") }
        let attached = nameBytes.count + 2 < word.count ? Array(word.dropFirst(nameBytes.count + 3)) : nil
        var name = String(decoding: nameBytes, as: UTF8.self)
        let written = "--\(name)"
        if name == "next" { return try endTransfer() }
        let expands = name.hasPrefix("expand-")
        if expands { name.removeFirst("expand-".count) }
        func value() throws -> [UInt8] {
            guard let value = attached ?? rest.popFirst() else {
                throw UsageError(message: "\(written) of the curl command needs a value")
            }
            return expands ? try variables.expanded(value, for: written) : value
        }
        if name == "variable" { return try variables.set(try value(), written) }
        if name == "config" { return try readConfiguration(try CURLUse(written: written, value: value()).text) }
        if let row = CURLRow.named(name) {
            return try apply(row, CURLUse(written: written, value: row.takesValue ? value() : []))
        }
        if name.hasPrefix("no-"), let row = CURLRow.named(String(name.dropFirst(3))), !row.takesValue {
            return try apply(row, CURLUse(written: written, value: [], isOn: false))
        }
        throw Self.unknown(written)
    }

    private mutating func readShort(_ word: [UInt8], _ rest: inout ArraySlice<[UInt8]>) throws {
        var letters = word.dropFirst()
        while let byte = letters.popFirst() {
            let letter = Character(UnicodeScalar(byte))
            let written = "-\(letter)"
            if letter == ":" {
                try endTransfer()
                continue
            }
            let row = CURLRow.lettered(letter)
            guard row != nil || letter == "K" else { throw Self.unknown(written) }
            if let row, !row.takesValue {
                // `-N` finds the row `buffer`, although in curl it means `--no-buffer`. This does not matter, since
                // that row is ignored.
                try apply(row, CURLUse(written: written, value: []))
                continue
            }
            guard let value = letters.isEmpty ? rest.popFirst() : Array(letters) else {
                throw UsageError(message: "\(written) of the curl command needs a value")
            }
            let use = CURLUse(written: written, value: value)
            if let row { try apply(row, use) } else { try readConfiguration(try use.text) }
            return
        }
    }

    /// Whether the next word is the value of an option; false for a switch, and where the value is attached.
    private static func needsValue(_ option: String) -> Bool {
        if option.hasPrefix("--") {
            let name = String(option.dropFirst(2))
            if name == "next" || name.contains("=") { return false }
            if let row = CURLRow.named(name) { return row.takesValue }
            return !name.hasPrefix("no-") || CURLRow.named(String(name.dropFirst(3))) == nil
        }
        let letters = Array(option.dropFirst())
        let valued = letters.firstIndex { letter in
            letter != ":" && CURLRow.lettered(letter).map(\.takesValue) ?? true
        }
        return valued.map { $0 == letters.count - 1 } ?? false
    }

    private static func unknown(_ option: String) -> UsageError {
        UsageError(message: "the option \(option) of the curl command is unknown here, or cannot be carried out")
    }

    private mutating func apply(_ row: CURLRow, _ use: CURLUse) throws {
        guard !ignored.contains(row.name) else { return }
        try row.effect(&invocation, &transfer, use)
    }

    private mutating func endTransfer(isLast: Bool = false) throws {
        // A `--next` without a URL since the previous part ends no part: its options apply to the next. A last part
        // without a URL is dropped, unless it is the only one.
        if transfer.urls.isEmpty, !isLast || !invocations.isEmpty { return }
        if invocation.authenticationType == nil, invocation.authentication == base.authentication,
            invocation.authentication != nil
        {
            invocation.authenticationType = defaultScheme
        }
        for part in try transfer.parts() { try invocations.append(part.applied(to: invocation)) }
        (invocation, transfer) = (base, CURLTransfer())
    }

    // MARK: Files of options

    private mutating func readConfiguration(_ path: String) throws {
        // A file of options can include itself, so the depth is limited.
        guard configurationDepth < 8 else { throw UsageError(message: "-K: the files of options name each other") }
        configurationDepth += 1
        defer { configurationDepth -= 1 }
        let lines = try LocalFile.text(path).split(omittingEmptySubsequences: false) {
            $0 == "\n" || $0 == "\r\n"
        }
        for (index, line) in lines.enumerated() {
            guard let (name, value) = CURLConfiguration.option(line) else { continue }
            let option = name.hasPrefix("-") ? name : "--\(name)"
            let place = "\(path == "-" ? "standard input" : path), line \(index + 1)"
            do {
                if let value, Self.needsValue(option) {
                    try read([Array(option.utf8), Array(value.utf8)])
                } else {
                    try read([Array(option.utf8)])
                    // As in curl, text behind an option that takes no value is ignored, and not read as a URL.
                    if value?.isEmpty == false { Terminal.tell("fireweed: \(place): a value too many is ignored\n") }
                }
            } catch let error as UsageError {
                throw UsageError(message: "\(place): \(error.message)")
            }
        }
    }
}

/// Parses the lines of a file for curl's `-K`.
enum CURLConfiguration {
    /// Returns the option of a line, and its value; `nil` for an empty line and a comment.
    ///
    /// White space separates the option and its value; so do `=` and `:` if the option is written without dashes.
    static func option(_ line: some StringProtocol) -> (name: String, value: String?)? {
        let line = line.drop { $0.isWhitespace }
        guard let first = line.first, first != "#" else { return nil }
        let separators = first == "-" ? "" : "=:"
        let name = line.prefix { !$0.isWhitespace && !separators.contains($0) }
        let rest = line[name.endIndex...].drop { $0.isWhitespace || separators.contains($0) }
        guard let start = rest.first else { return (String(name), nil) }
        if start == "\"" { return (String(name), quoted(rest.dropFirst())) }
        return (String(name), String(rest.prefix { !$0.isWhitespace }))
    }

    /// Returns the text up to the closing quote, with the escapes `\\`, `\"`, `\t`, `\n`, `\r` and `\v` replaced.
    private static func quoted(_ text: some StringProtocol) -> String {
        var value = ""
        var isEscaped = false
        for character in text {
            if isEscaped {
                let escapes: [Character: Character] = ["t": "\t", "n": "\n", "r": "\r", "v": "\u{0B}"]
                value.append(escapes[character] ?? character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                break
            } else {
                value.append(character)
            }
        }
        return value
    }
}

/// The variables of `--variable`, for `--expand-NAME`.
struct CURLVariables {
    private var values: [String: [UInt8]] = [:]

    /// Sets a variable: `name=text`, `name@file`, or from the environment `%NAME` and `%NAME=default`.
    mutating func set(_ definition: [UInt8], _ option: String) throws {
        let use = CURLUse(written: option, value: definition)
        var text = try use.text
        let isOfEnvironment = text.hasPrefix("%")
        if isOfEnvironment { text.removeFirst() }
        let name = String(text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber) || $0 == "_" })
        let rest = text.dropFirst(name.count)
        guard !name.isEmpty else { throw use.wrongValue() }
        if isOfEnvironment, let value = getenv(name) {
            values[name] = Array(String(cString: value).utf8)
        } else if rest.first == "=" {
            values[name] = Array(rest.dropFirst().utf8)
        } else if rest.first == "@" {
            values[name] = Array(try LocalFile.data(String(rest.dropFirst())))
        } else {
            throw use.wrongValue(isOfEnvironment ? "the environment has no variable of that name" : "")
        }
    }

    /// Replaces `{{name}}` and `{{name:function:…}}` in a text by the values of variables; `\{{` is literal.
    func expanded(_ value: [UInt8], for option: String) throws -> [UInt8] {
        let use = CURLUse(written: option, value: value)
        var rest = try use.text[...]
        var result: [UInt8] = []
        while let start = rest.firstRange(of: "{{") {
            let before = rest[..<start.lowerBound]
            if before.last == "\\" {
                result += Array(before.dropLast().utf8) + Array("{{".utf8)
                rest = rest[start.upperBound...]
                continue
            }
            guard let end = rest[start.upperBound...].firstRange(of: "}}") else { break }
            result += Array(before.utf8)
            let words = rest[start.upperBound..<end.lowerBound].split(separator: ":").map(String.init)
            guard let name = words.first else { throw use.wrongValue("{{}} has no name") }
            var bytes = values[name] ?? []
            for function in words.dropFirst() {
                guard let changed = Self.apply(function, bytes) else {
                    throw use.wrongValue("there is no function \(function)")
                }
                bytes = changed
            }
            result += bytes
            rest = rest[end.upperBound...]
        }
        return result + Array(rest.utf8)
    }

    private static func apply(_ function: String, _ bytes: [UInt8]) -> [UInt8]? {
        switch function {
        case "trim": Array(String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines).utf8)
        case "json":
            JSONNode(text: String(decoding: bytes, as: UTF8.self)).text.utf8.dropFirst().dropLast().map { $0 }
        case "url": CURLContent.percentEncoded(bytes)
        case "b64": Array(Data(bytes).base64EncodedString().utf8)
        default: nil
        }
    }
}
